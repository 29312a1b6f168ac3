// Tests for queries that try to exhaust memory or evade their deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/base/testing/limited_child.h"
#include "services/base/text/strings.h"
#include "services/query/stored_query.h"

namespace pitwall::query {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMemory = size_t{600} << 20;

// Creates `count` series named `a`, each with one sample at time 0. The value of label `x` is a
// number followed by `bytes` characters.
class Input {
 public:
  explicit Input(int count, size_t bytes = 0) {
    for (int i = 0; i < count; ++i) {
      series_.push_back({Labels({{"__name__", "a"},
                                 {"x", Cat(i, std::string(bytes, 'v'))},
                                 {"le", Cat(i % 10)},
                                 {"g", Cat(i / 10)}}),
                         times_, values_});
    }
  }

  StatusOr<std::vector<AnswerSeries>> Ask(std::string_view text, const RunLimits& limits = {},
                                          int64_t end_s = 0) const {
    ASSIGN_OR_RETURN(const StoredQuery query, StoredQuery::Make(text, {.end = end_s * kSecond}));
    return query.Run(std::vector(query.needs().size(), series_), limits);
  }

 private:
  const std::vector<int64_t> times_ = {0};
  const std::vector<double> values_ = {1};
  std::vector<StoredSeries> series_;
};

// Returns nested label_replace calls. Each nesting level repeats the label value `groups` times.
std::string Nested(int levels, int groups) {
  std::string replacement, text = "a";
  for (int i = 0; i < groups; ++i) replacement += "${1}";
  for (int i = 0; i < levels; ++i)
    text = Cat("label_replace(", text, ",\"x\",\"", replacement, "\",\"x\",\"(.*)\")");
  return text;
}

std::string NestedJoin(int levels) {
  std::string text = "a";
  for (int i = 0; i < levels; ++i)
    text = Cat("label_join(", text, ",\"x\",\"\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\")");
  return text;
}

// Runs the query in a child process with limited memory. Expects a ResourceExhausted error that
// contains `function` and `limit`.
void ExpectRefused(const Input& input, const std::string& text, std::string_view function,
                   std::string_view limit, int64_t end_s = 0) {
  const int status = RunWithMemoryLimit(kMemory, [&] {
    const auto answer = input.Ask(text, {}, end_s);
    if (answer.ok()) return 1;
    if (answer.status().code() != absl::StatusCode::kResourceExhausted) return 2;
    const std::string_view message = ToStd(answer.status().message());
    if (message.find(function) == message.npos) return 3;
    return message.find(limit) == message.npos ? 4 : 0;
  });
  EXPECT_EQ(status, 0) << text.substr(0, 200);
}

TEST(HostileQuery, NestedLabelReplace_IsRejected) {
  ExpectRefused(Input(1, 30), Nested(12, 8), "label_replace", "16384 bytes");
}

TEST(HostileQuery, NestedLabelJoin_IsRejected) {
  ExpectRefused(Input(1, 30), NestedJoin(20), "label_join", "16384 bytes");
}

TEST(HostileQuery, ReplacementRepeatingGroup_IsRejected) {
  ExpectRefused(Input(1, 10'000), Nested(1, 10'000), "label_replace", "16384 bytes");
}

TEST(HostileQuery, ManyLongLabels_ExceedLabelSetLimit) {
  std::string text = Nested(1, 1);
  for (int i = 0; i < 20; ++i)
    text = Cat("label_replace(", text, ",\"y", i, "\",\"$1\",\"x\",\"(.*)\")");
  ExpectRefused(Input(1, 8'000), text, "label_replace", "65536");
}

TEST(HostileQuery, LabelsOfManySeries_ExceedEvaluationLimit) {
  ExpectRefused(Input(20'000, 30), Nested(4, 6), "label_replace", "limit per evaluation");
}

TEST(HostileQuery, LabelsOfManyLevels_ExceedEvaluationLimit) {
  std::string text = "a";
  for (int i = 0; i < 100; ++i)
    text = Cat("label_replace(", text, ",\"y\",\"", i, "$1\",\"x\",\"(.*)\")");
  ExpectRefused(Input(2'000, 8'000), text, "label_replace", "limit per evaluation");
}

TEST(HostileQuery, GroupLeftWithLongLabels_IsRejected) {
  ExpectRefused(Input(20'000, 0),
                "a * on() group_left(z) label_replace(max(a),\"z\",\"" + std::string(12'000, 'z') +
                    "\",\"x\",\".*\")",
                "group_left", "limit per evaluation");
}

TEST(HostileQuery, CountValuesPerTick_ExceedsResultLabelLimit) {
  ExpectRefused(Input(1),
                "count_values without () (\"t\",label_replace(vector(1),\"x\",\"" +
                    std::string(16'000, 'z') + "\",\"x\",\".*\")*0+time())",
                "bytes of labels", "134217728", 11'000 * 60);
}

TEST(HostileQuery, WideExpression_ExceedsMemoryLimit) {
  std::string text = "a * 1";  // the expression tree is wide but not deep
  for (int i = 0; i < 4'000; ++i) {
    if (i % 100 == 0) CatTo(text, i == 0 ? "" : ")", " or (a * ", i + 2);
    if (i % 100 != 0) CatTo(text, " or a * ", i + 2);
  }
  ExpectRefused(Input(20'000, 0), text + ")", "select fewer series", "536870912");
}

TEST(HostileQuery, RepeatedQuery_ReturnsSameLabelLimitError) {
  const Input input(1, 30);
  const auto first = input.Ask(Nested(5, 8)), second = input.Ask(Nested(5, 8));
  EXPECT_EQ(first.status(), second.status());
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(input.Ask(Nested(2, 8)).ok());
}

// Every kind of operator must check the deadline while evaluating a single tick.
class Deadline : public ::testing::TestWithParam<const char*> {};

TEST_P(Deadline, IsCheckedWithinTick) {
  const Input input(20'000, 100);
  int checks = 0;
  RunLimits limits;
  limits.check = [&] {
    ++checks;
    return OkStatus();
  };
  const auto whole = input.Ask(GetParam(), limits);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const int needed = checks;
  ASSERT_GE(needed, 2);  // one check before the tick, and at least one during the tick
  checks = 0;
  limits.check = [&] { return ++checks < 2 ? OkStatus() : DeadlineExceeded("out of time"); };
  const auto cut = input.Ask(GetParam(), limits);
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(checks, 2);  // the evaluation stops after the deadline
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Deadline,
    ::testing::Values("label_replace(a,\"y\",\"$1\",\"x\",\"(.*)\")",
                      "label_join(a,\"y\",\"-\",\"x\",\"g\",\"g\",\"g\",\"g\",\"g\",\"g\",\"g\")+a",
                      "sum by (x) (a)+1", "count_values(\"v\",a+a)", "topk(5,a)+1", "a + on(x) a",
                      "a * on(g) group_left(y) max by (g) (a)", "a and on(x) a",
                      "sort_by_label(a,\"x\")+a", "histogram_quantile(0.5,a)+1",
                      "quantile(0.5,a*2)+count(a*3)", "-(a*2)+1",
                      "max_over_time(a[1h])*sum_over_time(a[2h])", "max_over_time((a*2)[10m:1s])"));

}  // namespace
}  // namespace pitwall::query
