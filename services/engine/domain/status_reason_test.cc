// Tests for the reasons in rule statuses (time-model.md, section 8): missing series and conditions
// that a rule waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/base/testing/limited_child.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Feeds series m{gpu="…"} from one node at this second. If a step is set, also feeds them on the
// step clock.
void Feed(ShardForTest* shard, int second, const std::map<std::string, double>& values,
          int64_t step = kNoStep) {
  Schema schema;
  std::vector<double> row;
  for (const auto& [gpu, value] : values) {
    schema.series.push_back({Labels({{kMetricName, "m"}, {"gpu", gpu}}), SeriesKind::kGauge});
    row.push_back(value);
  }
  schema.id = SchemaId(0, schema.series);
  const int64_t times[] = {ShardForTest::At(second)};
  const int64_t steps[] = {step};
  Batch batch;
  batch.source = "rank-0";
  batch.info.kind = SourceKind::kRank;
  batch.info.rank = 0;
  batch.schemas.push_back(schema);
  batch.frames.push_back({.schema_id = schema.id, .times = times, .values = row});
  if (step != kNoStep) {
    batch.info.step_modes = {"train"};
    batch.step_promises.push_back({"train", step});
    batch.frames.back().steps = steps;
    batch.frames.back().mode = "train";
  }
  shard->Feed(batch, second);
}

std::string Rules(std::string_view group, std::string_view rules) {
  return Cat("groups:\n- name: g\n  ", group, "\n  rules:\n", rules);
}

// The label is 4^20 bytes long, but the child process may map only 600 MiB more. The log may
// already contain such a rule, because limits on new rules do not remove existing ones.
TEST(StatusReasonTest, RuleThatExhaustsMemory_HasStatusError) {
  std::string expr = "m";
  for (int i = 0; i < 20; ++i)
    expr = Cat("label_replace(", expr, ",'gpu','$1$1$1$1','gpu','(.*)')");
  const int status = RunWithMemoryLimit(size_t{600} << 20, [&] {
    ShardForTest shard(Rules("interval: 2s", Cat("  - {alert: Bad, expr: \"", expr,
                                                 " > 5\"}\n  - {alert: High, expr: m > 5}\n")));
    for (int t = 1; t <= 8; ++t) Feed(&shard, t, {{"0", 9}});
    bool failed = false, found = false;
    for (const std::string& event : shard.Events()) {
      failed |= event.find("status Error Bad label_replace: the value of label \"gpu\"") == 0;
      found |= event.find("issue.found High") != std::string::npos;
    }
    return failed && found ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(StatusReasonTest, PendingReasonContainsFiringTime) {
  ShardForTest shard(Rules("interval: 2s", "  - {alert: High, expr: m > 5, for: 9s}\n"));
  for (int t = 1; t <= 4; ++t) Feed(&shard, t, {{"0", 1}, {"1", 1}});
  for (int t = 5; t <= 7; ++t) Feed(&shard, t, {{"0", 9}, {"1", 1}});
  for (int t = 8; t <= 20; ++t) Feed(&shard, t, {{"0", 9}, {"1", 9}});
  // Ticks are 2 s apart, so with `for: 9s` an alert fires at the tick 10 s after it became pending.
  EXPECT_THAT(shard.Events(),
              ElementsAre("status NoIssuesFound High ",
                          "status InProgress High 1 element is pending since 2026-01-01T00:00:06Z, "
                          "and fires at 2026-01-01T00:00:16Z",
                          "io.pitwall.issue.found High", "status IssuesFound High ",
                          "io.pitwall.issue.found High"));
  EXPECT_EQ(shard.outputs().events[4].time.ns(), ShardForTest::At(16));
}

TEST(StatusReasonTest, FirstOfSeveralPendingElementsIsNamed) {
  ShardForTest shard(Rules("interval: 1s", "  - {alert: High, expr: m > 5, for: 1m}\n"));
  for (int t = 1; t <= 5; ++t) Feed(&shard, t, {{"0", 9}, {"1", 9}, {"2", 1}});
  EXPECT_EQ(shard.StatusOf("High"),
            "InProgress 2 elements are pending, the first since 2026-01-01T00:00:01Z, and fires at "
            "2026-01-01T00:01:01Z");
}

TEST(StatusReasonTest, StepClockReasonUsesSteps) {
  ShardForTest shard(
      Rules("clock: step\n  interval: 10", "  - {alert: High, expr: m > 5, for: 25}\n"));
  for (int t = 1; t <= 100; ++t) Feed(&shard, t, {{"0", t < 35 ? 1 : 9}}, t);
  EXPECT_THAT(shard.Events(),
              ElementsAre("status NoIssuesFound High ",
                          "status InProgress High 1 element is pending since step 40, and fires "
                          "at step 70",
                          "io.pitwall.issue.found High", "status IssuesFound High "));
  EXPECT_EQ(shard.outputs().events[4].step, 70);
}

TEST(StatusReasonTest, ReasonCountsFirstSamples) {
  ShardForTest shard(
      Rules("interval: 1s",
            "  - {alert: High, expr: 'm > 2 * avg_over_time(m[first 4 samples after 1])'}\n"));
  Feed(&shard, 1, {{"0", 1}});
  EXPECT_EQ(shard.StatusOf("High"),
            "InProgress a window of first samples of the attempt is not full: 1 of 5 samples");
  for (int t = 2; t <= 9; ++t) Feed(&shard, t, {{"0", 1}});
  EXPECT_THAT(shard.Events(), ElementsAre("status NoIssuesFound High "));
}

TEST(StatusReasonTest, ReasonContainsMinimumHistoryInSamples) {
  ShardForTest shard(Rules(
      "interval: 1s",
      "  - alert: High\n    params: {patience: 4}\n"
      "    expr: 'm > 5 and on (gpu) max by (gpu) (count_over_time(m[attempt])) > $patience'\n"));
  Feed(&shard, 1, {{"0", 1}, {"1", 1}});
  EXPECT_EQ(shard.StatusOf("High"), "InProgress not judged before there are 5 samples: 1 so far");
  for (int t = 2; t <= 9; ++t) Feed(&shard, t, {{"0", 1}, {"1", 1}});
  EXPECT_THAT(shard.Events(), ElementsAre("status NoIssuesFound High "));
  EXPECT_EQ(shard.outputs().events.back().time.ns(), ShardForTest::At(5));
}

// The reason is reported again at the start of the next attempt.
TEST(StatusReasonTest, MinimumHistoryRestartsWithAttempt) {
  const auto run = [](int restart) {
    ShardForTest shard(Rules("clock: step\n  interval: 1",
                             "  - {alert: High, expr: 'm > 5 and count_over_time(m[20]) >= 8'}\n"));
    for (int t = 1; t <= 40; ++t) {
      Feed(&shard, t, {{"0", 9}}, t);
      if (restart > 0 && t % restart == 0) shard.Restart();
    }
    // On the step clock, a decreasing step number counts as a new attempt.
    for (int t = 41; t <= 60; ++t) {
      Feed(&shard, t, {{"0", 1}}, t - 30);
      if (restart > 0 && t % restart == 0) shard.Restart();
    }
    return shard.Events();
  };
  const std::vector<std::string> events = run(0);
  EXPECT_THAT(events, ElementsAre("io.pitwall.issue.found High", "status IssuesFound High ",
                                  "io.pitwall.issue.resolved High",
                                  "status InProgress High the attempt has just begun",
                                  "status NoIssuesFound High "));
  EXPECT_EQ(run(7), events);
}

// Waiting does not help if the samples are too far apart. That reason is reported once, even after
// a different reason.
TEST(StatusReasonTest, SamplesTooFarApart_ReasonContainsSpacing) {
  const std::string_view expr =
      "m > 5 and count_over_time(m[60]) >= 40 and on () min((ts_of_last_over_time(m[5 samples]) - "
      "ts_of_first_over_time(m[5 samples])) / (count_over_time(m[5 samples]) - 1)) < $row_steps";
  const auto run = [&](int apart, double limit) {
    ShardForTest shard(
        Rules("clock: step\n  interval: 1",
              Cat("  - {alert: High, params: {row_steps: ", limit, "}, expr: '", expr, "'}\n")));
    Feed(&shard, 1, {{"0", 1}}, apart);
    EXPECT_THAT(shard.StatusOf("High"), HasSubstr("not judged before there are 40 samples"));
    for (int t = 2; t <= 90; ++t) Feed(&shard, t, {{"0", 1}}, t * apart);
    return shard.Events();
  };
  EXPECT_THAT(run(10, 1.5),
              ElementsAre("status InProgress High a row every 10 steps; needs every step"));
  EXPECT_THAT(run(10, 4),
              ElementsAre("status InProgress High a row every 10 steps; needs one every 4 steps"));
  EXPECT_THAT(run(1, 1.5), ElementsAre("status NoIssuesFound High "));
}

TEST(StatusReasonTest, ReasonContainsMinimumHistoryAsDuration) {
  ShardForTest shard(Rules("interval: 1s",
                           "  - {alert: High, expr: 'm > 5 and on () time() - "
                           "min(ts_of_first_over_time(m[attempt])) >= 30'}\n"));
  Feed(&shard, 1, {{"0", 1}, {"1", 1}});
  EXPECT_EQ(shard.StatusOf("High"), "InProgress not judged before 2026-01-01T00:00:31Z");
  for (int t = 2; t <= 50; ++t) Feed(&shard, t, {{"0", 1}, {"1", 1}});
  EXPECT_THAT(shard.Events(), ElementsAre("status NoIssuesFound High "));
  EXPECT_EQ(shard.outputs().events.back().time.ns(), ShardForTest::At(31));
}

// An `or` does not wait if one side can be evaluated. A count that is the subject of the rule is
// not a minimum history.
TEST(StatusReasonTest, UnrelatedConditionsAreNotMinimumHistory) {
  for (const char* expression :
       {"m > 5 and count_over_time(m[attempt]) > 100 or m < 0", "count_over_time(m[attempt]) > 100",
        "m > 5 unless count_over_time(m[attempt]) > 100",
        "m > 5 and count(count_over_time(m[attempt]) > 100 or m) > 0",
        "m + (count_over_time(m[attempt]) > bool 100) > 5",
        "count_over_time(m[1h]) >= 20 or count_over_time(m[30m]) >= 18",
        "max by (gpu) (count_over_time(m[1h]) > 20)",
        "sum(time() - ts_of_first_over_time(m[attempt]) > 86400)"}) {
    ShardForTest shard(Rules("interval: 1s", Cat("  - {alert: High, expr: '", expression, "'}\n")));
    for (int t = 1; t <= 5; ++t) Feed(&shard, t, {{"0", 1}});
    EXPECT_THAT(shard.Events(), ElementsAre("status NoIssuesFound High ")) << expression;
  }
  for (const char* expression :
       {"m > 5 and count_over_time(m[attempt]) > 100 or m < 0 and 200 < count_over_time(m[9m])",
        "sum(abs(m and count_over_time(m[attempt]) > 100)) > 5",
        "m > 5 and (m and count_over_time(m[30s:1s]) >= 20)"}) {
    ShardForTest shard(Rules("interval: 1s", Cat("  - {alert: High, expr: '", expression, "'}\n")));
    for (int t = 1; t <= 5; ++t) Feed(&shard, t, {{"0", 1}});
    EXPECT_THAT(shard.StatusOf("High"), HasSubstr("InProgress not judged")) << expression;
  }
}

TEST(StatusReasonTest, NewWindow_ReasonStatesWhenWindowIsFull) {
  ShardForTest shard(Rules("interval: 1s", "  - {alert: High, expr: m > 5}\n"));
  for (int t = 1; t <= 9; ++t) Feed(&shard, t, {{"0", 1}});
  shard.ChangeRules(
      Rules("interval: 1s", "  - {alert: High, expr: 'avg_over_time(m[30s]) > 5'}\n"));
  for (int t = 10; t <= 50; ++t) Feed(&shard, t, {{"0", 1}});
  EXPECT_THAT(
      shard.Events(),
      ElementsAre("status NoIssuesFound High ",
                  "status InProgress High a window of this rule is new on a running job and "
                  "full at 2026-01-01T00:00:39Z",
                  "status NoIssuesFound High "));
  EXPECT_EQ(shard.outputs().events.back().time.ns(), ShardForTest::At(39));
}

TEST(StatusReasonTest, ReasonNamesMissingSeries) {
  ShardForTest shard(Rules("interval: 1s", "  - {alert: High, expr: sum by (gpu) (m) > 5}\n"));
  for (int t = 1; t <= 5; ++t) Feed(&shard, t, {{"0", 1}, {"1", 1}});
  for (int t = 6; t <= 70; ++t) Feed(&shard, t, {{"0", 1}});
  EXPECT_THAT(shard.Events(), ElementsAre("status NoIssuesFound High ",
                                          "status NoData High without input of m: {gpu=\"1\"}"));
}

// An element that oscillates around the threshold updates the status once per minute of event time.
TEST(StatusReasonTest, OscillatingElementDoesNotFloodStatuses) {
  const auto run = [](int restart) {
    ShardForTest shard(Rules("interval: 1s", "  - {alert: High, expr: m > 5, for: 1m}\n"));
    for (int t = 1; t <= 600; ++t) {
      Feed(&shard, t, {{"0", t % 2 == 0 ? 9 : 1}});
      if (restart > 0 && t % restart == 0) shard.Restart();
    }
    // Finally, the element stays below the threshold, and the last status reports that.
    for (int t = 601; t <= 700; ++t) Feed(&shard, t, {{"0", 1}});
    return shard.Events();
  };
  const std::vector<std::string> events = run(0);
  EXPECT_LE(events.size(), 13U);
  EXPECT_GE(events.size(), 9U);
  EXPECT_EQ(events.back(), "status NoIssuesFound High ");
  EXPECT_EQ(run(7), events);
  EXPECT_EQ(run(60), events);
}

// Statuses on the step clock are also updated between steps. An error must persist across these
// updates.
TEST(StatusReasonTest, StepClockErrorIsReportedOnce) {
  ShardForTest shard(
      Rules("clock: step\n  interval: 1\n  limit: 1", "  - {alert: Any, expr: m > 5}\n"));
  for (int t = 1; t <= 10; ++t) Feed(&shard, t, {{"0", 9}, {"1", 1}}, t);
  for (int t = 11; t <= 40; ++t) Feed(&shard, t, {{"0", 9}, {"1", 9}}, t);
  for (int t = 41; t <= 60; ++t) Feed(&shard, t, {{"0", 1}, {"1", 1}}, t);
  EXPECT_THAT(shard.Events(),
              ElementsAre("io.pitwall.issue.found Any", "status IssuesFound Any ",
                          HasSubstr("status Error Any exceeded limit"),
                          "io.pitwall.issue.resolved Any", "status NoIssuesFound Any "));
}

}  // namespace
}  // namespace pitwall::engine
