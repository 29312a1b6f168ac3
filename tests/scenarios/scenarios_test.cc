// The scenarios of time-model.md, section 9, by number and name: hangs, deaths, outages, kills, and
// edits. Each runs with every log.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/scenarios/actors.h"

namespace pitwall::scenarios {
namespace {

using engine::Drop;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

INSTANTIATE_TEST_SUITE_P(Logs, Scenario, testing::Range<size_t>(0, LogKinds().size()),
                         [](const auto& test) { return LogKinds()[test.param].name; });

TEST_P(Scenario, S01_AllRanksHangInCollectiveForTwentyMinutes) {
  Plan plan(Base());
  std::vector<SimSource> sources = {Node(plan, "node-0"), Node(plan, "node-1")};
  std::vector<SimSource> ranks;
  for (int r = 0; r < 8; ++r) ranks.push_back(Rank(plan, r));
  Join(&plan, &sources);
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  const auto nodes = [&](int64_t now) {
    for (SimSource& node : sources) {
      node.Set("hw_gpu_utilization_ratio", 1);
      plan.Add(node, node.Row(now));
    }
  };
  plan.Run(20, [&](int64_t now) {
    nodes(now);
    StepAll(&plan, &ranks, step++);
  });
  // Seven ranks finish one more step. The eighth hangs in that step, and then all ranks hang.
  plan.Wait(kSecond);
  std::vector<SimSource> moving(ranks.begin(), ranks.end() - 1);
  StepAll(&plan, &moving, step);
  std::copy(moving.begin(), moving.end(), ranks.begin());
  int second = 0;
  plan.Run(20 * 60, [&](int64_t now) {
    nodes(now);
    // The client's own thread sends heartbeats and repeats its state every 15 s.
    for (SimSource& rank : ranks)
      plan.Add(rank, ++second % 120 < 8 ? rank.Row(now) : rank.Heartbeat(now));
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: JobStalled
    expr: sum(changes(train_step[1m])) == 0
    for: 5m
    needs: [train_step]
  - alert: RankMissing
    expr: count(train_step) < 8
  - alert: NodeMissing
    expr: count(hw_gpu_utilization_ratio) < 2
- name: steps
  clock: step
  interval: 1
  rules:
  - alert: SlowStep
    expr: train_step_duration_seconds > 100
    needs: [train_step_duration_seconds]
  - alert: StepOfSome
    expr: max(train_step) >= 20
)",
                           plan);
  std::vector<std::string> issues = Issues(events);
  std::erase_if(issues, [](const std::string& line) { return StartsWith(line, "updated"); });
  EXPECT_THAT(issues, ElementsAre("found JobStalled"));
  for (const IssueEvent& e : events) {
    if (e.type != EventType::kIssueFound) continue;
    const int64_t hang = (e.time.ns() - (Base() + 20 * kSecond)) / kSecond;
    EXPECT_GE(hang, 5 * 60);
    EXPECT_LE(hang, 5 * 60 + 62);
  }
  EXPECT_EQ(LastStatus(events, "SlowStep"),
            "NoIssuesFound");  // ranks that send heartbeats are not "no data"
  for (const IssueEvent& e : events) EXPECT_LT(e.step, 20);  // the step clock does not advance
  EXPECT_EQ(Dropped(Counters(), Drop::kLate), 0u);
}

TEST_P(Scenario, S02_NodeWithFourRanksDies) {
  Plan plan(Base());
  std::vector<SimSource> nodes = {Node(plan, "node-0"), Node(plan, "node-1")};
  std::vector<SimSource> ranks;
  for (int r = 0; r < 8; ++r) ranks.push_back(Rank(plan, r));
  Join(&plan, &nodes);
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  plan.Run(90, [&](int64_t now) {
    const bool dead = plan.now() > Base() + 40 * kSecond;
    for (size_t n = 0; n < 2; ++n) {
      nodes[n].Set("hw_gpu_utilization_ratio", n == 1 ? 0.05 : 0.9);
      if (n == 0 || !dead) plan.Add(nodes[n], nodes[n].Row(now));
    }
    for (int r = 4; r < 8; ++r) ranks[static_cast<size_t>(r)].alive = !dead;
    StepAll(&plan, &ranks, step++);
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: RanksMissing
    expr: count(train_step) < 8
    for: 2s
  - alert: RankGone
    expr: (train_step offset 12s) unless train_step
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 10s
    needs: [hw_gpu_utilization_ratio]
)",
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
    SimSource gone = Node(plan, "node-0");
    SimSource other = Node(plan, "node-1", "job-2");
    plan.Run(120, [&](int64_t now) {
      gone.Set("hw_gpu_utilization_ratio", 1);
      other.Set("hw_gpu_utilization_ratio", 1);
      if (now <= Base() + 30 * kSecond) plan.Add(gone, gone.Row(now));
      if (busy) plan.Add(other, other.Row(now));
    });
    const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: Vanished
    expr: absent(hw_gpu_utilization_ratio)
    for: 20s
)",
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

// Nodes 0, 1, and 2 return in the order `next`.
Plan BrokerAway(int64_t base, const std::array<size_t, 3>& next) {
  Plan plan(base);
  std::vector<SimSource> nodes;
  for (int n = 0; n < 3; ++n) nodes.push_back(Node(plan, Cat("node-", n)));
  Join(&plan, &nodes);
  const auto send = [&](int64_t now) {
    for (SimSource& node : nodes) {
      node.Set("hw_gpu_utilization_ratio", 0.9);
      plan.Add(node, node.Row(now));
    }
  };
  plan.Run(60, send);
  // No record reaches the log for 30 s, not even clock ticks. Spooled data keeps its times.
  std::vector<std::vector<std::string>> spooled(nodes.size());
  for (int s = 0; s < 30; ++s) {
    plan.Wait(kSecond);
    for (size_t n = 0; n < nodes.size(); ++n) spooled[n].push_back(nodes[n].Row(plan.now()));
  }
  // The nodes return one after another, and nodes that have returned continue as before. Ticks
  // pause for the grace period.
  std::vector<size_t> back;
  for (int s = 1; s <= 15; ++s) {
    plan.Wait(kSecond);
    for (size_t n = 0; n < nodes.size(); ++n) {
      const std::string value = nodes[n].Row(plan.now());
      if (std::find(back.begin(), back.end(), n) != back.end()) {
        plan.Add(nodes[n], value);
      } else {
        spooled[n].push_back(value);
      }
    }
    if (s % 5 != 0) continue;
    back.push_back(next[s / 5 - 1]);
    for (const std::string& value : spooled[back.back()]) plan.Add(nodes[back.back()], value);
  }
  plan.Control(TickRecord(Duration::Zero()));
  plan.Run(60, send);
  return plan;
}

TEST_P(Scenario, S04_BrokerUnavailableForThirtySecondsWhileCollectorsSpool) {
  std::array<size_t, 3> order = {0, 1, 2};
  do {
    SCOPED_TRACE(Cat("order ", order[0], order[1], order[2]));
    const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: NodeMissing
    expr: count(hw_gpu_utilization_ratio) < 3
    for: 3s
  - alert: Gap
    expr: min(count_over_time(hw_gpu_utilization_ratio[5s])) < 4
    for: 5s
)",
                             BrokerAway(Base(), order));
    EXPECT_THAT(Issues(events), IsEmpty());
    EXPECT_EQ(Dropped(Counters(), Drop::kLate), 0u);
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
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  plan.Run(30, [&](int64_t now) {
    node.Set("hw_gpu_utilization_ratio", 1);
    plan.Add(node, node.Row(now));
  });
  plan.Run(40, [](int64_t) {});
  plan.Wait(20 * kSecond);                     // without a live owner there are no ticks
  plan.Control(TickRecord(Duration::Zero()));  // the first tick of the next owner
  plan.Run(60, [](int64_t) {});
  options_.poll_records = 1;
  options_.snapshot_interval = Duration::Seconds(10);
  std::vector<PlannedRecord> records = {{plan.base(), "__control", RulesRecord(Publish(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: Vanished
    expr: absent(hw_gpu_utilization_ratio)
    for: 60s
)")),
                                         ""}};
  records.insert(records.end(), plan.records.begin(), plan.records.end());
  Write(records);
  EXPECT_GT(RunWithKills([this] { return Start(); }, &clock_, 5, 30, records.size()), 0u);
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
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  SimSource second = Node(plan, "node-1");
  const std::string rules = R"(
groups:
- name: record
  interval: 5s
  rules:
  - record: gpu:avg
    expr: avg_over_time(hw_gpu_utilization_ratio[1m])
- name: alert
  interval: 5s
  rules:
  - alert: Slow
    expr: min_over_time(gpu:avg[5m]) < 0.5
    for: 10m
  - alert: Flip
    expr: max_over_time(hw_gpu_utilization_ratio[90s]) > $limit
    params: {limit: 0.95}
    for: 30s
    explains: [{alert: Slow, scope: job, lag: 15m}]
)";
  const std::string first = Publish(rules);
  std::string changed = rules;
  changed.replace(changed.find("[90s]"), 5, "[60s]");
  const std::string changed_hash = Publish(changed);
  plan.Control(RulesRecord(first));
  std::mt19937 random(6);
  int second_number = 0;
  plan.Run(15 * 60, [&](int64_t now) {
    node.Set("hw_gpu_utilization_ratio", 0.2 + static_cast<double>(random() % 80) / 100);
    second.Set("hw_gpu_utilization_ratio", 0.1);
    plan.Add(node, node.Row(now));
    plan.Add(second, second.Row(now));
    if (++second_number == 7 * 60 + 30) plan.Control(RulesRecord(changed_hash));
  });
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
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  const std::string before = Publish(rules("avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.01"));
  const std::string after = Publish(rules("avg_over_time(hw_gpu_utilization_ratio[30m]) < 0.01"));
  plan.Control(RulesRecord(before));
  const auto send = [&](int64_t now) {
    node.Set("hw_gpu_utilization_ratio", 0.5);
    plan.Add(node, node.Row(now));
  };
  plan.Run(40, send);
  plan.Control(RulesRecord(after));
  const int64_t edit = plan.now();
  plan.Run(60, send);
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
