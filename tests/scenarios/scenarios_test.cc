// The scenarios of time-model.md, section 9, by number and name: hangs, deaths, outages, kills, and
// edits. Each runs with every log.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

INSTANTIATE_TEST_SUITE_P(Logs, Scenario, testing::Range<size_t>(0, LogKinds().size()),
                         [](const auto& test) { return LogKinds()[test.param].name; });

TEST_P(Scenario, S01_AllRanksHangInCollectiveForTwentyMinutes) {
  Plan plan(Base());
  plan.Play(R"(
collector@node-0..1 beats
rank-0..3(node=node-0 modes=train) beats
rank-4..7(node=node-1 modes=train) beats
collector@node-0..1 sends hw_gpu_utilization_ratio=1 @1s..20s
rank-0..7 steps 0..19 train_step_duration_seconds=1 @1s
owner ticks @1s..20s
# Seven ranks finish one more step. The eighth hangs in that step, and then all ranks hang.
rank-0..6 steps 20 train_step_duration_seconds=1 @21s
# The client's own thread sends heartbeats and repeats its state every 15 s.
collector@node-0..1 sends hw_gpu_utilization_ratio=1 @22s..1221s
rank-0..6 sends train_step=20 train_step_duration_seconds=1 @22s..1221s every 15s
rank-7 sends train_step=19 train_step_duration_seconds=1 @22s..1221s every 15s
rank-0..7 beats @22s..1221s
owner ticks @22s..1221s
)");
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: JobStalled, expr: "sum(changes(train_step[1m])) == 0", for: 5m, needs: [train_step]}
  - {alert: RankMissing, expr: "count(train_step) < 8"}
  - {alert: NodeMissing, expr: "count(hw_gpu_utilization_ratio) < 2"}
- name: steps
  clock: step
  interval: 1
  rules:
  - alert: SlowStep
    expr: train_step_duration_seconds > 100
    needs: [train_step_duration_seconds]
  - {alert: StepOfSome, expr: "max(train_step) >= 20"}
)",
                           plan);
  EXPECT_THAT(BeginsAndEnds(events), ElementsAre("found JobStalled"));
  for (const IssueEvent& e : events) {
    if (e.type != EventType::kIssueFound) continue;
    const int64_t hang = (e.time.ns() - (Base() + 20 * kSecond)) / kSecond;
    EXPECT_GE(hang, 5 * 60);
    EXPECT_LE(hang, 5 * 60 + 62);
  }
  EXPECT_EQ(LastStatus(events, "SlowStep"),
            "NoIssuesFound");  // ranks that send heartbeats are not "no data"
  for (const IssueEvent& e : events) EXPECT_LT(e.step, 20);  // the step clock does not advance
  EXPECT_EQ(Dropped(Drop::kLate), 0u);
}

TEST_P(Scenario, S02_NodeWithFourRanksDies) {
  Plan plan(Base());
  plan.Play(R"(
collector@node-0(labels={gpu=0,node=node-0}) beats
collector@node-1(labels={gpu=0,node=node-1}) beats
rank-0..3(node=node-0 modes=train) beats
rank-4..7(node=node-1 modes=train) beats
collector@node-0 sends hw_gpu_utilization_ratio=0.9 @1s..90s
collector@node-1 sends hw_gpu_utilization_ratio=0.05 @1s..40s
rank-0..3 steps 0..89 train_step_duration_seconds=1 @1s
rank-4..7 steps 0..39 train_step_duration_seconds=1 @1s
owner ticks @1s..90s
)");
  const auto events = Play(EverySecond(R"(
  - {alert: RanksMissing, expr: "count(train_step) < 8", for: 2s}
  - {alert: RankGone, expr: "(train_step offset 12s) unless train_step"}
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 10s
    needs: [hw_gpu_utilization_ratio]
)"),
                           plan);
  EXPECT_THAT(Issues(events),
              testing::IsSupersetOf({"found RanksMissing", "found RankGone{rank=\"4\"}",
                                     "found RankGone{rank=\"5\"}", "found RankGone{rank=\"6\"}",
                                     "found RankGone{rank=\"7\"}",
                                     "found LowGPU{gpu=\"0\",node=\"node-1\"}",
                                     "resolved LowGPU{gpu=\"0\",node=\"node-1\"} no_data"}));
  EXPECT_THAT(Issues(events), Not(Contains(HasSubstr("rank=\"0\""))));
  EXPECT_THAT(Issues(events), Not(Contains(HasSubstr("node-0"))));
  EXPECT_EQ(LastStatus(events, "LowGPU"), "NoData");
  size_t found = 0;
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kRuleStatus && e.alert == "LowGPU" &&
        e.status == RuleStatus::kNoData && e.ever_found) {
      EXPECT_THAT(e.status_reason, HasSubstr("node-1"));
      ++found;
    }
    // Series are stale after 5 s of ticks, not after the look-back of 5 minutes.
    if (e.type == EventType::kIssueFound && e.alert == "RanksMissing" &&
        e.time.ns() > Base() + 30 * kSecond) {
      EXPECT_LE(e.time.ns(), Base() + 50 * kSecond);
    }
  }
  EXPECT_GE(found, 1u);
}

TEST_P(Scenario, S03_AllSourcesOfJobVanish) {
  for (const bool busy : {true, false}) {
    SCOPED_TRACE(busy ? "beside a busy job" : "in a silent partition");
    Plan plan(Base());
    plan.Play(Cat("collector@node-0 sends hw_gpu_utilization_ratio=1 @1s..30s\n",
                  busy ? "job-2/collector@node-1 sends hw_gpu_utilization_ratio=1 @1s..120s\n" : "",
                  "owner ticks @1s..120s\n"));
    const auto events = Play(EverySecond(R"rules(
  - {alert: Vanished, expr: "absent(hw_gpu_utilization_ratio)", for: 20s}
)rules"),
                             plan);
    EXPECT_THAT(Issues(events), ElementsAre("found Vanished"));
    for (const IssueEvent& e : events) {
      if (e.type == EventType::kIssueFound) {
        EXPECT_EQ(e.job, kJob);
      }
    }
    TearDown();
    SetUp();
  }
}

// No record reaches the log for 30 s after the first minute, not even clock ticks. Spooled data
// keeps its times. Nodes 0, 1, and 2 then return in the order `next`, every five seconds, and
// continue as before. Ticks pause for the grace period.
Plan BrokerAway(int64_t base, const std::array<size_t, 3>& next) {
  std::string script = R"(
collector@node-0..2 beats
collector@node-0..2 sends hw_gpu_utilization_ratio=0.9 @1s..60s
owner ticks @1s..60s
)";
  for (size_t i = 0; i < next.size(); ++i) {
    const std::string node =
        Cat("collector@node-", next[i], " sends hw_gpu_utilization_ratio=0.9 @");
    const size_t back = 95 + 5 * i;
    CatTo(script, node, "61s..", back, "s arrives ", back, "s\n");
    CatTo(script, node, back + 1, "s..165s\n");
  }
  Plan plan(base);
  plan.Play(Cat(script, "owner starts @105s\nowner ticks @106s..165s\n"));
  return plan;
}

TEST_P(Scenario, S04_BrokerUnavailableForThirtySecondsWhileCollectorsSpool) {
  std::array<size_t, 3> order = {0, 1, 2};
  do {
    SCOPED_TRACE(Cat("order ", order[0], order[1], order[2]));
    const auto events = Play(EverySecond(R"(
  - {alert: NodeMissing, expr: "count(hw_gpu_utilization_ratio) < 3", for: 3s}
  - {alert: Gap, expr: "min(count_over_time(hw_gpu_utilization_ratio[5s])) < 4", for: 5s}
)"),
                             BrokerAway(Base(), order));
    EXPECT_THAT(Issues(events), IsEmpty());
    EXPECT_EQ(Dropped(Drop::kLate), 0u);
    EXPECT_EQ(Counters().gaps, 0u);
    TearDown();
    SetUp();
  } while (std::next_permutation(order.begin(), order.end()));
}

// Processes records one by one. Replaces the owner without a clean stop at random moments, and once
// immediately after each rule set change. Returns the total number of records that were reread.
// (kill_test covers kills within a commit.)
uint64_t RunWithKills(const std::function<std::unique_ptr<processor::PartitionProcessor>()>& start,
                      fakes::FakeClock* clock, uint32_t seed, int kills, size_t records) {
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  auto processor = start();
  std::set<std::string> rule_sets;
  uint64_t again = 0;
  const auto kill = [&] {
    again += processor->stats().replay.records_replayed;
    processor = start();  // the old owner disappears in the middle of processing
  };
  for (int i = 0; i < 1'000'000; ++i) {
    const Status status = processor->RunOnce(Duration::Millis(20));
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return again;
    clock->Advance(random() % 3 == 0
                       ? kSecond
                       : 100 * kNanosPerMilli);  // commits and snapshots at irregular moments
    if (kills > 0 && random() % std::max<size_t>(records / static_cast<size_t>(kills), 2) == 0) {
      --kills;
      kill();
    } else if (rule_sets.insert(processor->stats().rule_set_hash).second) {
      kill();
    } else if (processor->CaughtUp()) {
      return again + processor->stats().replay.records_replayed;
    }
  }
  ADD_FAILURE() << "the processor did not catch up";
  return again;
}

TEST_P(Scenario, S05_OwnerIsKilledWhileSilentJobIsPending) {
  options_.poll_records = 1;
  options_.snapshot_interval = Duration::Seconds(10);
  Plan plan(Base());
  plan.Play(Cat("owner loads ", Publish(EverySecond(R"rules(
  - {alert: Vanished, expr: "absent(hw_gpu_utilization_ratio)", for: 60s}
)rules")),
                R"(
collector@node-0 sends hw_gpu_utilization_ratio=1 @1s..30s
owner ticks @1s..70s
owner starts @90s  # without a live owner there are no ticks
owner ticks @91s..150s
)"));
  Write(plan.records);
  EXPECT_GT(RunWithKills([this] { return Start(); }, &clock_, 5, 30, plan.records.size()), 0u);
  const auto events = Events();
  EXPECT_EQ(Encoded(events), Encoded(Reference()));
  EXPECT_THAT(Issues(events), ElementsAre("found Vanished"));
  for (const IssueEvent& e : events) {
    if (e.type != EventType::kIssueFound) continue;
    // Times are in job time, which does not advance without ticks. The outage delays the verdict,
    // which requires 60 s of observed silence.
    EXPECT_GE(e.time.ns(), Base() + 90 * kSecond);
    EXPECT_LE(e.time.ns(), Base() + 100 * kSecond);
  }
}

TEST_P(Scenario, S06_OwnerKilledBetweenSnapshotAndRuleSetCommit) {
  const std::string rules = R"rules(
groups:
- name: record
  interval: 5s
  rules:
  - {record: "gpu:avg", expr: "avg_over_time(hw_gpu_utilization_ratio[1m])"}
- name: alert
  interval: 5s
  rules:
  - {alert: Slow, expr: "min_over_time(gpu:avg[5m]) < 0.5", for: 10m}
  - alert: Flip
    expr: max_over_time(hw_gpu_utilization_ratio[90s]) > $limit
    params: {limit: 0.95}
    for: 30s
    explains: [{alert: Slow, scope: job, lag: 15m}]
)rules";
  const std::string first = Publish(rules);
  std::string changed = rules;
  changed.replace(changed.find("[90s]"), 5, "[60s]");
  const std::string changed_hash = Publish(changed);
  std::string script = Cat("owner loads ", first, "\n");
  std::mt19937 random(6);
  for (int second = 1; second <= 15 * 60; ++second) {
    CatTo(script, "collector@node-0 sends hw_gpu_utilization_ratio=",
          0.2 + static_cast<double>(random() % 80) / 100, " @", second, "s\n");
  }
  CatTo(script, "collector@node-1 sends hw_gpu_utilization_ratio=0.1 @1s..900s\nowner loads ",
        changed_hash, " @450s\nowner ticks @1s..900s\n");
  Plan plan(Base());
  plan.Play(script);
  Write(plan.records);
  options_.poll_records = 7;
  EXPECT_GT(RunWithKills([this] { return Start(); }, &clock_, 6, 20, plan.records.size() / 7), 0u);
  const auto events = Events();
  EXPECT_EQ(Encoded(events), Encoded(Reference()));
  EXPECT_THAT(Issues(events), Contains(HasSubstr("found Slow")));
  EXPECT_THAT(Issues(events), Contains(HasSubstr("found Flip")));
  EXPECT_THAT(events, Contains(testing::AllOf(testing::Field(&IssueEvent::alert, "Slow"),
                                              testing::Field(&IssueEvent::root_cause, Not("")))));
}

TEST_P(Scenario, S07_OneOfTwoHundredRulesIsEdited) {
  const auto rules = [](const std::string& edited) {
    std::string yaml = "groups:\n- name: g\n  interval: 1s\n  rules:\n";
    for (int i = 0; i < 200; ++i) {
      const std::string expr =
          i == 199 ? edited : Cat("hw_gpu_utilization_ratio < 0.", 10 + i % 90);
      CatTo(yaml, "  - alert: A", i, "\n    expr: ", expr, "\n    for: ", i % 2 == 0 ? "5s" : "50s",
            "\n");
    }
    return yaml;
  };
  const std::string before = Publish(rules("avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.01"));
  const std::string after = Publish(rules("avg_over_time(hw_gpu_utilization_ratio[30m]) < 0.01"));
  const int64_t edit = Base() + 40 * kSecond;
  Plan plan(Base());
  plan.Play(Cat("owner loads ", before, "\ncollector@node-0 sends hw_gpu_utilization_ratio=0.5 ",
                "@1s..100s\nowner ticks @1s..100s\nowner loads ", after, " @40s\n"));
  Write(plan.records);
  const auto processor = Start();
  Drain(processor.get());
  const auto events = Events();
  EXPECT_EQ(Encoded(events), Encoded(Reference()));
  size_t found = 0;
  for (const IssueEvent& e : events) {
    EXPECT_NE(e.type, EventType::kIssueResolved) << e.alert;
    if (e.type != EventType::kIssueFound) continue;
    ++found;
    // A `for` that was pending at the edit does not restart.
    EXPECT_LE(e.time.ns(), Base() + 53 * kSecond) << e.alert;
  }
  EXPECT_GE(found, 50u);
  EXPECT_EQ(LastStatus(events, "A199"), "InProgress");
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kRuleStatus && e.time.ns() > edit + kSecond && e.alert != "A199") {
      EXPECT_EQ(e.status, RuleStatus::kIssuesFound) << e.alert;
    }
  }
}

}  // namespace
}  // namespace pitwall::scenarios
