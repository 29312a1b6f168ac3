#include "rules/alert/status/rule_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/alert/testing/alert_script.h"

namespace pitwall::alert {
namespace {

using testing::ElementsAre;

std::string Show(const std::optional<StatusChange>& change) {
  if (!change) return "";
  return Cat(RuleStatusName(change->previous), " -> ", RuleStatusName(change->status),
             change->reason.empty() ? "" : ": ", change->reason,
             change->ever_found ? " (found before)" : "", change->reason_only ? " (reason)" : "");
}

std::vector<std::string> Xs(const std::vector<Labels>& labels) {
  std::vector<std::string> out;
  for (const Labels& l : labels) out.emplace_back(l.Get("x"));
  return out;
}

class InputWatchTest : public testing::Test {
 protected:
  void See(const std::vector<std::string>& bound, std::string_view present) {
    const Elements e = Parse(ColumnOfX(bound, "a"), present);
    watch.Update(e.View());
    // A restored watch has the same state and saves the same data.
    BinaryWriter writer;
    watch.Save(writer);
    InputWatch other;
    BinaryReader reader(writer.data());
    other.Restore(reader);
    ASSERT_TRUE(reader.Finish("watch").ok());
    EXPECT_EQ(other.missing_count(), watch.missing_count());
    EXPECT_EQ(other.Names(100), watch.Names(100));
    BinaryWriter again;
    other.Save(again);
    EXPECT_EQ(again.data(), writer.data());
    if (restore_each_time) watch = std::move(other);
  }
  InputWatch watch;
  bool restore_each_time = false;

  void Story() {
    See({"1", "2", "3"}, "1 2");
    EXPECT_EQ(watch.missing_count(), 0u);
    See({"1", "2", "3"}, "1");
    EXPECT_THAT(Xs(watch.Names(10)), ElementsAre("2"));
    EXPECT_TRUE(watch.IsMissing(Labels({{"x", "2"}})));
    EXPECT_FALSE(watch.IsMissing(Labels({{"x", "1"}})));
    See({"1", "3", "4"}, "1 4");  // The store dropped 2.
    EXPECT_THAT(Xs(watch.Names(10)), ElementsAre("2"));
    EXPECT_TRUE(watch.IsMissing(Labels({{"x", "2"}})));
    See({"0", "1", "3"}, "3");  // The store dropped 4, which was just present; 1 is absent.
    EXPECT_THAT(Xs(watch.Names(10)), ElementsAre("1", "2", "4"));
    EXPECT_THAT(Xs(watch.Names(2)), ElementsAre("1", "2"));
    See({"1", "2", "3", "4"}, "1 4 3");  // 2 is known again, but absent.
    EXPECT_THAT(Xs(watch.Names(10)), ElementsAre("2"));
    See({"1", "2", "3", "4"}, "1 2 3 4");
    EXPECT_EQ(watch.missing_count(), 0u);
    See({"1", "2"}, "");
    EXPECT_EQ(watch.missing_count(), 4u);
    watch.AttemptEnded();
    EXPECT_EQ(watch.missing_count(), 0u);
    See({"1", "2"}, "");
    EXPECT_EQ(watch.missing_count(), 0u);
  }
};

TEST_F(InputWatchTest, NamesMissingElements) { Story(); }
TEST_F(InputWatchTest, RestoreAtEveryTickDoesNotChangeResult) {
  restore_each_time = true;
  Story();
}

TEST_F(InputWatchTest, DroppedElementsAreBounded) {
  watch = InputWatch(3);
  std::vector<std::string> xs;
  for (int i = 0; i < 10; ++i) xs.push_back(std::to_string(i));
  See(xs, "0 1 2 3 4 5 6 7 8 9");
  See({}, "");
  EXPECT_EQ(watch.missing_count(), 3u);
}

// Ticks are a minute apart, so each status lasts long enough to be reported.
TEST(RuleStatus, StatusFollowsPrecedence) {
  RuleStatusMachine m({"up", "load"});
  StatusInput in;
  const auto step = [&](std::vector<uint8_t> met) {
    in.time_ns += RuleStatusMachine::kSettleNs;
    in.needs_met = met;
    m.Gate(met);
    return Show(m.Update(in));
  };
  EXPECT_EQ(step({0, 0}), "");
  EXPECT_EQ(step({0, 0}), "Unknown -> NoData: no series of up, load");
  EXPECT_EQ(step({0, 0}), "");
  EXPECT_EQ(step({1, 0}), "");
  EXPECT_EQ(step({1, 0}), "NoData -> NoData: no series of load (reason)");
  EXPECT_FALSE(m.gate_open());
  in.in_progress = "waits for 10 steps";
  EXPECT_EQ(step({1, 1}), "NoData -> InProgress: waits for 10 steps");
  in.in_progress = "";
  EXPECT_EQ(step({1, 1}), "InProgress -> NoIssuesFound");
  in.firing = 2;
  EXPECT_EQ(step({1, 1}), "NoIssuesFound -> IssuesFound (found before)");
  EXPECT_EQ(step({0, 1}), "");  // An issue takes precedence over missing input.
  in.error = true;
  in.error_message = "too many series";
  EXPECT_EQ(step({1, 1}), "IssuesFound -> Error: too many series (found before)");
  in.error = false;
  in.firing = 0;
  EXPECT_EQ(step({0, 1}), "Error -> NoData: no series of up (found before)");
  EXPECT_EQ(step({1, 1}), "NoData -> NoIssuesFound (found before)");
  EXPECT_TRUE(m.ever_found());
  EXPECT_EQ(Show(m.Stop("the job ended")),
            "NoIssuesFound -> Stopped: the job ended (found before)");
  EXPECT_EQ(Show(m.Stop("the job ended")), "");
}

constexpr int64_t kSecond = 1'000'000'000;

// Restores the machine from its saved state.
void SaveAndRestore(RuleStatusMachine* m, std::vector<std::string> needs) {
  BinaryWriter writer;
  m->Save(writer);
  BinaryReader reader(writer.data());
  *m = RuleStatusMachine(std::move(needs));
  m->Restore(reader);
  ASSERT_TRUE(reader.Finish("status").ok());
}

// During the first minute of a job, each rule waits for its series and history. This is expected
// and requires no action.
TEST(RuleStatus, FirstStatus_IsReportedOnceSettled) {
  struct Case {
    std::vector<std::pair<int64_t, char>>
        ticks;  // second; '-' no data, 'i' in progress, '0' no issues
    std::vector<std::string> reports;
  };
  for (const Case& one : std::vector<Case>{
           {{{0, '-'}, {5, 'i'}, {30, '0'}, {90, '0'}}, {"30 Unknown -> NoIssuesFound"}},
           {{{0, '0'}}, {"0 Unknown -> NoIssuesFound"}},
           {{{0, '-'}, {59, '-'}, {60, '-'}, {61, '-'}, {70, '0'}},
            {"60 Unknown -> NoData: no series of a", "70 NoData -> NoIssuesFound"}},
           {{{0, '-'}, {30, 'i'}, {60, 'i'}, {100, '0'}},
            {"60 Unknown -> InProgress: waits", "100 InProgress -> NoIssuesFound"}},
           {{{0, '-'}, {1, '!'}, {2, '-'}},
            {"1 Unknown -> IssuesFound (found before)",
             "2 IssuesFound -> NoData: no series of a (found before)"}},
       }) {
    RuleStatusMachine m({"a"});
    std::vector<std::string> reports;
    for (const auto& [second, kind] : one.ticks) {
      const std::vector<uint8_t> met = {kind == '-' ? uint8_t{0} : uint8_t{1}};
      StatusInput in;
      in.time_ns = second * kSecond;
      in.needs_met = met;
      in.in_progress = kind == 'i' ? "waits" : "";
      in.firing = kind == '!' ? 1 : 0;
      m.Gate(met);
      if (std::string shown = Show(m.Update(in)); !shown.empty())
        reports.push_back(Cat(second, " ", shown));
      SaveAndRestore(&m, {"a"});
    }
    EXPECT_EQ(reports, one.reports);
  }
}

TEST(RuleStatus, JobEnded_StatusUnreported_IsReported) {
  const std::vector<uint8_t> met = {1}, unmet = {0};
  StatusInput in;
  const auto update = [&in](RuleStatusMachine* m, int64_t second, std::span<const uint8_t> needs,
                            std::string_view in_progress = "") {
    in.time_ns = second * kSecond;
    in.needs_met = needs;
    in.in_progress = in_progress;
    m->Gate(needs);
    return Show(m->Update(in));
  };
  RuleStatusMachine never({"a"});
  EXPECT_EQ(Show(never.Finish()), "Unknown -> NoData: the job ended before the first evaluation");

  RuleStatusMachine without({"a"});
  update(&without, 0, unmet);
  EXPECT_EQ(Show(without.Finish()), "Unknown -> NoData: no series of a");
  EXPECT_EQ(Show(without.Finish()), "");

  // The last rank has left, so its series are missing.
  RuleStatusMachine short_job({"a"});
  update(&short_job, 0, met, "waits");
  EXPECT_EQ(update(&short_job, 5, unmet), "");
  SaveAndRestore(&short_job, {"a"});
  EXPECT_EQ(Show(short_job.Finish()), "Unknown -> InProgress: waits");

  RuleStatusMachine judged({"a"});
  update(&judged, 0, met);
  EXPECT_EQ(update(&judged, 300, unmet), "");
  EXPECT_EQ(Show(judged.Finish()), "");

  // The change came too soon after another one.
  RuleStatusMachine hovering({"a"});
  update(&hovering, 0, met);
  EXPECT_EQ(update(&hovering, 90, met, "waits"), "NoIssuesFound -> InProgress: waits");
  EXPECT_EQ(update(&hovering, 100, met), "");
  EXPECT_EQ(update(&hovering, 105, unmet), "");
  EXPECT_EQ(Show(hovering.Finish()), "InProgress -> NoIssuesFound");

  // The input was missing for a long time before the job ended.
  RuleStatusMachine silent({"a"});
  update(&silent, 0, met);
  update(&silent, 10, unmet);
  EXPECT_EQ(update(&silent, 70, unmet), "NoIssuesFound -> NoData: no series of a");
  EXPECT_EQ(Show(silent.Finish()), "");
}

TEST(RuleStatus, NeedsMetBeforeFirstTick_StatusIsNoData) {
  RuleStatusMachine m({"a", "b"});
  StatusInput in;
  const std::vector<uint8_t> met = {1, 1};
  in.needs_met = met;
  m.Update(in);
  in.time_ns = RuleStatusMachine::kSettleNs;
  EXPECT_EQ(Show(m.Update(in)), "Unknown -> NoData: no evaluation with a yet");
  m.Gate(met);
  EXPECT_EQ(Show(m.Update(in)), "NoData -> NoIssuesFound");
}

TEST(RuleStatus, GateOpensAfterAllNeedsAreMet) {
  RuleStatusMachine m({"a", "b"});
  EXPECT_FALSE(m.Gate(std::vector<uint8_t>{1, 0}));
  EXPECT_FALSE(m.Gate(std::vector<uint8_t>{0, 0}));
  EXPECT_TRUE(m.Gate(std::vector<uint8_t>{0, 1}));  // Not both at the same time.
  EXPECT_TRUE(m.Gate(std::vector<uint8_t>{0, 0}));
  EXPECT_TRUE(RuleStatusMachine({}).Gate({}));
}

TEST(RuleStatus, MissingInputIsNamed) {
  RuleStatusMachine m({});
  InputWatch watch;
  StatusInput in;
  in.inputs = &watch;
  std::vector<std::string> xs;
  for (int i = 1; i < 9; ++i) xs.push_back(std::to_string(i));
  const auto column = ColumnOfX(xs, "gpu");
  watch.Update(Parse(column, "1 2 3 4 5 6 7 8").View());
  EXPECT_EQ(Show(m.Update(in)), "Unknown -> NoIssuesFound");
  watch.Update(Parse(column, "1 3 4 5 6 7 8").View());
  EXPECT_EQ(Show(m.Update(in)), "");
  in.time_ns += RuleStatusMachine::kSettleNs;
  EXPECT_EQ(Show(m.Update(in)), "NoIssuesFound -> NoData: without input: gpu{x=\"2\"}");
  watch.Update(Parse(column, "8").View());
  EXPECT_EQ(Show(m.Update(in)), "");
  in.time_ns += RuleStatusMachine::kSettleNs;
  EXPECT_EQ(Show(m.Update(in)),
            "NoData -> NoData: without input: gpu{x=\"1\"}, gpu{x=\"2\"}, gpu{x=\"3\"}, "
            "gpu{x=\"4\"}, gpu{x=\"5\"} and 2 more (reason)");
  watch.AttemptEnded();
  EXPECT_EQ(Show(m.Update(in)), "NoData -> NoIssuesFound");
}

TEST(RuleStatus, MissingInputWithoutName_ReasonNamesNeeds) {
  RuleStatusMachine m({"load", "up"});
  InputWatch watch;
  StatusInput in;
  in.inputs = &watch;
  const std::vector<uint8_t> met = {1, 1};
  in.needs_met = met;
  m.Gate(met);
  const auto column = ColumnOfX({"1", "2"}, "");
  watch.Update(Parse(column, "1 2").View());
  m.Update(in);
  watch.Update(Parse(column, "2").View());
  m.Update(in);
  in.time_ns += RuleStatusMachine::kSettleNs;
  EXPECT_EQ(Show(m.Update(in)), "NoIssuesFound -> NoData: without input of load, up: {x=\"1\"}");
}

TEST(RuleStatus, MissingInputWithoutLabels_ReasonNamesNeeds) {
  RuleStatusMachine m({"load"});
  InputWatch watch;
  StatusInput in;
  in.inputs = &watch;
  const std::vector<uint8_t> met = {1};
  in.needs_met = met;
  m.Gate(met);
  const auto column = eval::LabelColumn::Of({Labels()});
  watch.Update(Parse(column, "=1").View());
  m.Update(in);
  watch.Update(Parse(column, "").View());
  m.Update(in);
  in.time_ns += RuleStatusMachine::kSettleNs;
  EXPECT_EQ(Show(m.Update(in)), "NoIssuesFound -> NoData: without input of load");
}

TEST(RuleStatus, OscillationIsReportedOncePerMinute) {
  RuleStatusMachine m({});
  StatusInput in;
  const auto at = [&](int64_t second, std::string_view in_progress) {
    in.time_ns = second * kSecond;
    in.in_progress = in_progress;
    return Show(m.Update(in));
  };
  EXPECT_EQ(at(1, ""), "Unknown -> NoIssuesFound");
  EXPECT_EQ(at(2, "one"), "NoIssuesFound -> InProgress: one");
  EXPECT_EQ(at(3, "two"), "InProgress -> InProgress: two (reason)");
  EXPECT_EQ(at(4, ""), "");
  EXPECT_EQ(m.status(), RuleStatus::kNoIssuesFound);  // The current status, reported or not.
  EXPECT_EQ(at(30, "three"), "");
  EXPECT_EQ(at(31, ""), "");
  EXPECT_EQ(at(61, ""), "");
  EXPECT_EQ(at(62, ""), "InProgress -> NoIssuesFound");
  EXPECT_EQ(at(63, "four"), "");
  EXPECT_EQ(at(64, ""), "");
  EXPECT_EQ(at(65, "four"), "");
  // Any other change is reported immediately, as a change from the last reported status.
  in.firing = 1;
  EXPECT_EQ(at(66, ""), "NoIssuesFound -> IssuesFound (found before)");
  in.firing = 0;
  EXPECT_EQ(at(67, "five"), "IssuesFound -> InProgress: five (found before)");
  EXPECT_EQ(at(68, ""), "");
  // The limit also applies after a restore.
  BinaryWriter writer;
  m.Save(writer);
  RuleStatusMachine same({});
  BinaryReader reader(writer.data());
  same.Restore(reader);
  in.time_ns = 121 * kSecond;
  EXPECT_EQ(Show(same.Update(in)), "");
  in.time_ns = 122 * kSecond;
  EXPECT_EQ(Show(same.Update(in)), "InProgress -> NoIssuesFound (found before)");
}

TEST(RuleStatus, LossOfInput_IsReportedAfterOneMinute) {
  RuleStatusMachine m({"load"});
  StatusInput in;
  std::vector<uint8_t> met = {1};
  in.needs_met = met;
  m.Gate(met);
  const auto at = [&](int64_t second, bool there) {
    in.time_ns = second * kSecond;
    met[0] = there ? 1 : 0;
    return Show(m.Update(in));
  };
  EXPECT_EQ(at(0, true), "Unknown -> NoIssuesFound");
  for (int64_t second = 1; second < 900; ++second) {
    // The limits are part of the state, so they must survive a restore.
    if (second % 100 == 0) SaveAndRestore(&m, {"load"});
    // The input is present for the first 20 s of each minute, and alternates every second
    // otherwise.
    ASSERT_EQ(at(second, second % 2 == 0 || second % 60 < 20), "") << second;
  }
  EXPECT_EQ(at(900, true), "");
  EXPECT_EQ(at(910, false), "");
  EXPECT_EQ(m.status(), RuleStatus::kNoData);  // The status itself has no delay.
  EXPECT_EQ(at(969, false), "");
  EXPECT_EQ(at(970, false), "NoIssuesFound -> NoData: no series of load");
  EXPECT_EQ(at(971, true), "NoData -> NoIssuesFound");
}

TEST(RuleStatus, AlternatingReasonIsNotReportedAgain) {
  RuleStatusMachine m({"a", "b"});
  StatusInput in;
  std::vector<uint8_t> met = {0, 0};
  in.needs_met = met;
  size_t reported = 0;
  for (int64_t second = 0; second < 600; ++second) {
    met[0] = second % 2 == 0 ? 0 : 1;
    in.time_ns = second * kSecond;
    m.Gate(met);
    reported += m.Update(in).has_value() ? 1 : 0;
  }
  EXPECT_EQ(reported, 1U);
}

TEST(RuleStatus, RestoredStateMachineContinues) {
  RuleStatusMachine m({"a", "b"});
  m.Gate(std::vector<uint8_t>{1, 1});
  StatusInput in;
  in.firing = 1;
  m.Update(in);
  BinaryWriter writer;
  m.Save(writer);
  RuleStatusMachine same({"a", "b"});
  BinaryReader reader(writer.data());
  same.Restore(reader);
  EXPECT_TRUE(reader.Finish("status").ok());
  EXPECT_EQ(same.status(), RuleStatus::kIssuesFound);
  EXPECT_TRUE(same.ever_found());
  EXPECT_TRUE(same.gate_open());
  EXPECT_FALSE(same.Update(in).has_value());  // No change.
  // A rule with an additional need waits for that need.
  RuleStatusMachine more({"a", "b", "c"});
  BinaryReader again(writer.data());
  more.Restore(again);
  EXPECT_FALSE(more.gate_open());
  EXPECT_TRUE(more.Gate(std::vector<uint8_t>{0, 0, 1}));
  // Damaged data.
  for (size_t cut = 0; cut < writer.data().size(); ++cut) {
    RuleStatusMachine other({"a"});
    BinaryReader damaged(std::string_view(writer.data()).substr(0, cut));
    other.Restore(damaged);
    EXPECT_FALSE(damaged.Finish("status").ok());
    EXPECT_EQ(other.status(), RuleStatus::kUnknown);
  }
}

// Snapshots from earlier versions. In format 3, each machine has reported its first status, and the
// last two times are the last return from NoData and the start of NoData. Format 2 lacks these
// times.
TEST(RuleStatus, SnapshotsOfFormats2And3AreRestored) {
  for (const uint8_t format : {uint8_t{2}, uint8_t{3}}) {
    for (const RuleStatus status : {RuleStatus::kUnknown, RuleStatus::kNoIssuesFound}) {
      BinaryWriter out;
      out.U8(format);
      out.U64(1);
      out.Str("load");
      out.Bool(true);
      out.Bool(true);
      out.U8(static_cast<uint8_t>(status));
      out.Str("");
      out.Bool(true);
      out.U8(static_cast<uint8_t>(RuleStatus::kNoIssuesFound));
      out.I64(kMinPosition);
      if (format == 3) {
        out.Str("");
        out.I64(kMinPosition);
        out.I64(5 * kSecond);
        out.I64(2 * kSecond);
      }
      RuleStatusMachine m({"load"});
      BinaryReader in(out.data());
      m.Restore(in);
      ASSERT_TRUE(in.Finish("status").ok());
      EXPECT_TRUE(m.ever_found());
      EXPECT_TRUE(m.reported());
      StatusInput input;
      const std::vector<uint8_t> met = {1}, unmet = {0};
      input.needs_met = met;
      input.time_ns = 10 * kSecond;
      // A machine without a status is a successor (Succeed), so it reports immediately.
      EXPECT_EQ(Show(m.Update(input)), status == RuleStatus::kUnknown
                                           ? "NoIssuesFound -> NoIssuesFound (found before)"
                                           : "");
      input.needs_met = unmet;
      EXPECT_EQ(Show(m.Update(input)), "");
      input.time_ns = 70 * kSecond;
      EXPECT_EQ(Show(m.Update(input)), "NoIssuesFound -> NoData: no series of load (found before)");
    }
  }
}

}  // namespace
}  // namespace pitwall::alert
