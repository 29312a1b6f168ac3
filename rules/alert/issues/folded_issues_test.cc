// Tests for rules with `fold`: alerts that differ only in the folded labels are one issue.
#include "rules/alert/issues/folded_issues.h"

#include <gtest/gtest.h>

#include <cmath>

#include <memory>
#include <string>
#include <vector>

#include "rules/alert/alert_state.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

constexpr int64_t kTickNs = 10'000'000'000;

// One rule over elements (rank, tensor). A tick sets the values of the elements present in expr.
class FoldedIssuesTest : public testing::Test {
 protected:
  using Values = std::vector<std::pair<size_t, double>>;

  FoldedIssuesTest() {
    rule_.name = "p/g/Bad";
    rule_.alert = "Bad";
    rule_.fold = {"tensor"};
    rule_.annotations = {{"summary", "{{ $labels.tensor }} is {{ $value }}", {}}};
    std::vector<Labels> labels;
    for (const char* rank : {"0", "1"}) {
      for (int i = 0; i < 12; ++i)
        labels.push_back(Labels({{"__name__", "t"}, {"rank", rank}, {"tensor", Cat("t", 10 + i)}}));
    }
    column_ = eval::LabelColumn::Of(std::move(labels));
  }

  AlertState Make() {
    auto made = AlertRule::Make(domain_, rule_, 0);
    EXPECT_TRUE(made.ok()) << made.status();
    return AlertState(*made, {.report_pending = false});
  }

  static std::string Show(const Transition& t) {
    std::string out =
        Cat(TransitionKindName(t.kind), " rank ", t.labels.Get("rank"), " #", t.sequence, " since ",
            t.active.position.ns() / kTickNs, ": ", t.Annotation("summary"), "; first ",
            t.folded.named[0].labels.Get("tensor"), " worst ", t.folded.worst.labels.Get("tensor"),
            "=", FormatDouble(t.folded.worst.value), " count ", t.folded.count);
    if (t.kind == TransitionKind::kResolved) CatTo(out, " ", EndReasonName(t.end_reason));
    return out;
  }

  // Runs a tick on `state_`, and on a second state restored from the data saved before the tick.
  std::vector<std::string> Tick(int64_t tick, const Values& values) {
    if (!state_) state_ = std::make_unique<AlertState>(Make());
    BinaryWriter before;
    state_->Save(before);
    AlertState second = Make();
    BinaryReader reader(before.data());
    second.Restore(reader);
    EXPECT_TRUE(reader.Finish("state").ok());
    std::vector<uint8_t> present(column_->size(), 0);
    std::vector<double> numbers(column_->size(), 0);
    for (const auto& [i, value] : values) {
      present[i] = 1;
      numbers[i] = value;
    }
    eval::Vector vector;
    vector.column = column_;
    vector.binding = column_->binding();
    vector.values = numbers;
    vector.present = present;
    AlertInput input;
    input.at.time = EventTime::FromNs(tick * kTickNs);
    input.at.position = PositionOf(input.at.time);
    input.expr = &vector;
    std::vector<Transition> got, again;
    EXPECT_TRUE(state_->Step(input, &got).ok());
    EXPECT_TRUE(second.Step(input, &again).ok());
    std::vector<std::string> out, out_again;
    for (const Transition& t : got) out.push_back(Show(t));
    for (const Transition& t : again) out_again.push_back(Show(t));
    EXPECT_EQ(out, out_again);
    BinaryWriter first_bytes, second_bytes;
    state_->Save(first_bytes);
    second.Save(second_bytes);
    EXPECT_EQ(first_bytes.data(), second_bytes.data());
    last_ = got;
    return out;
  }

  plan::DomainPlan domain_;
  plan::Rule rule_;
  eval::LabelColumnPtr column_;
  std::unique_ptr<AlertState> state_;
  std::vector<Transition> last_;
};

using Lines = std::vector<std::string>;

TEST_F(FoldedIssuesTest, IssueSpansFirstToLastAlert) {
  EXPECT_EQ(Tick(1, {{1, 5}, {2, 7}}),
            Lines{"found rank 0 #1 since 1: t11 is 5; first t11 worst t12=7 count 2"});
  EXPECT_EQ(state_->firing(), 2u);
  EXPECT_EQ(Tick(2, {{1, 5}, {2, 7}, {3, 9}}), Lines{});
  // The first alert ends, but the issue continues with the next alert as its lead.
  EXPECT_EQ(Tick(3, {{2, 7}, {3, 9}}), Lines{});
  // A higher count or another lead is reported at most once per minute.
  EXPECT_EQ(Tick(6, {{2, 7}, {3, 9}}), Lines{});
  EXPECT_EQ(Tick(7, {{2, 7}, {3, 9}}),
            Lines{"updated rank 0 #2 since 1: t12 is 7; first t11 worst t13=9 count 3"});
  EXPECT_EQ(Tick(8, {{3, 9}}), Lines{});
  EXPECT_EQ(Tick(9, {}),
            Lines{"resolved rank 0 #3 since 1: t12 is 7; first t11 worst t13=9 count 3 cleared"});
  EXPECT_EQ(Tick(10, {}), Lines{});
  EXPECT_TRUE(state_->IsEmpty());
  // A new alert is a different issue.
  EXPECT_EQ(Tick(11, {{1, 5}}),
            Lines{"found rank 0 #1 since 11: t11 is 5; first t11 worst t11=5 count 1"});
}

TEST_F(FoldedIssuesTest, DifferentLabelsCreateSeparateIssues) {
  EXPECT_EQ(Tick(1, {{0, 1}, {12, 2}, {13, 3}}),
            (Lines{"found rank 0 #1 since 1: t10 is 1; first t10 worst t10=1 count 1",
                   "found rank 1 #1 since 1: t10 is 2; first t10 worst t11=3 count 2"}));
  EXPECT_EQ(Tick(2, {{13, 3}}),
            Lines{"resolved rank 0 #2 since 1: t10 is 1; first t10 worst t10=1 count 1 cleared"});
}

TEST_F(FoldedIssuesTest, NamesAtMostTenElementsAndCountsAll) {
  Values all;
  for (size_t i = 0; i < 12; ++i) all.emplace_back(i, 1);
  Tick(1, all);
  ASSERT_EQ(last_.size(), 1u);
  EXPECT_EQ(last_[0].folded.named.size(), kMaxFoldedNames);
  EXPECT_EQ(last_[0].folded.count, 12u);
  EXPECT_FALSE(last_[0].labels.Has("tensor"));
  EXPECT_EQ(last_[0].element.Get("tensor"), "t10");
}

// Each element has its own `for`, so elements that alternate do not fire.
TEST_F(FoldedIssuesTest, ForIsTrackedPerElement) {
  rule_.hold = Duration::Nanos(2 * kTickNs);
  EXPECT_EQ(Tick(1, {{0, 1}}), Lines{});
  EXPECT_EQ(Tick(2, {{1, 1}}), Lines{});
  EXPECT_EQ(Tick(3, {{2, 1}}), Lines{});
  EXPECT_EQ(Tick(4, {{2, 1}}), Lines{});
  EXPECT_EQ(Tick(5, {{2, 1}}),
            Lines{"found rank 0 #1 since 3: t12 is 1; first t12 worst t12=1 count 1"});
}

TEST_F(FoldedIssuesTest, LowerBound_MinimumIsWorst) {
  rule_.comparison.least_is_worst = true;
  EXPECT_EQ(Tick(1, {{0, 3}, {1, 1}, {2, std::nan("")}}),
            Lines{"found rank 0 #1 since 1: t10 is 3; first t10 worst t11=1 count 3"});
}

TEST_F(FoldedIssuesTest, RootCauseBelongsToIssue) {
  Tick(1, {{0, 1}, {1, 1}});
  const Labels issue = last_[0].labels;
  EXPECT_FALSE(state_->SetRootCause(Labels({{"alertname", "Bad"}, {"rank", "9"}}), "cause"));
  EXPECT_TRUE(state_->SetRootCause(issue, "cause"));
  EXPECT_EQ(Tick(3, {{0, 1}, {1, 1}}).size(), 0u);
  EXPECT_EQ(Tick(7, {{0, 1}, {1, 1}}).size(), 1u);
  EXPECT_EQ(last_[0].root_cause, "cause");
}

TEST_F(FoldedIssuesTest, EndAllEndsEveryIssue) {
  Tick(1, {{0, 1}, {1, 1}, {12, 1}});
  std::vector<Transition> out;
  state_->EndAll(
      EndReason::kJobEnded,
      {.position = Position::FromNs(2 * kTickNs), .time = EventTime::FromNs(2 * kTickNs)}, &out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(Show(out[1]),
            "resolved rank 1 #2 since 1: t10 is 1; first t10 worst t10=1 count 1 job_ended");
  EXPECT_TRUE(state_->IsEmpty());
  EXPECT_EQ(Tick(3, {}), Lines{});
}

TEST_F(FoldedIssuesTest, DamagedStateIsRejected) {
  Tick(1, {{0, 1}, {1, 1}});
  BinaryWriter saved;
  state_->Save(saved);
  for (size_t cut = 0; cut < saved.data().size(); ++cut) {
    AlertState second = Make();
    BinaryReader reader(std::string_view(saved.data()).substr(0, cut));
    second.Restore(reader);
    EXPECT_FALSE(reader.Finish("state").ok()) << cut;
  }
}

}  // namespace
}  // namespace pitwall::alert
