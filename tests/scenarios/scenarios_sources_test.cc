// The scenarios of time-model.md, section 9, by number and name: restarts, splits, foreign sources,
// clocks, replay, spools, and steps. Each runs with every log.
#include <gmock/gmock.h>

#include "tests/scenarios/actors.h"

namespace pitwall::scenarios {
namespace {

using engine::Drop;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_P(Scenario, S08_RanksRestartOneByOneWhileZombiesStillSend) {
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  std::vector<SimSource> old_ranks, new_ranks;
  for (int r = 0; r < 4; ++r) old_ranks.push_back(Rank(plan, r));
  plan.Add(node, node.Heartbeat(plan.now()));
  JoinRanks(&plan, &old_ranks);
  int64_t step = 0;
  const auto node_row = [&](int64_t now) {
    node.Set("hw_gpu_utilization_ratio", 0.05);
    plan.Add(node, node.Row(now));
  };
  plan.Run(20, [&](int64_t now) {
    node_row(now);
    StepAll(&plan, &old_ranks, step++);
  });
  // One rank restarts every two seconds; rank 0 restarts third. The old processes continue to send.
  int started = 0;
  const int order[] = {2, 3, 0, 1};
  plan.Run(10, [&](int64_t now) {
    node_row(now);
    StepAll(&plan, &old_ranks, step++);
    if (started < 4 && (now / kSecond) % 2 == 0) {
      new_ranks.push_back(Rank(plan, order[started++], "boot-2"));
      SimSource& fresh = new_ranks.back();
      plan.Add(fresh, fresh.Announce(now, {"train"}));
    }
    for (SimSource& rank : new_ranks) plan.Add(rank, rank.Heartbeat(now));
  });
  int64_t new_step = 5;
  plan.Run(30, [&](int64_t now) {
    node_row(now);
    if (now <= Base() + 40 * kSecond) StepAll(&plan, &old_ranks, step++);  // zombies
    StepAll(&plan, &new_ranks, new_step++);
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 5s
  - alert: Attempt
    expr: max(train_step) >= 10
    scope: attempt
)",
                           plan);
  EXPECT_GT(Dropped(Counters(), Drop::kZombie), 0u);
  std::vector<std::string> issues = Issues(events);
  EXPECT_THAT(issues, ElementsAre("found LowGPU{gpu=\"0\",node=\"node-0\"}", "found Attempt",
                                  "resolved Attempt attempt_ended", "found Attempt"));
  std::vector<uint64_t> attempts;
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kIssueFound) attempts.push_back(e.attempt);
  }
  EXPECT_THAT(attempts, ElementsAre(1, 1, 2));  // one new attempt
}

TEST_P(Scenario, S09_TwoJobsShareNodeWithUnknownGpuSplit) {
  Plan plan(Base());
  SimSource node = Node(plan, "node-0", "node:node-0");
  SimSource first = Node(plan, "node-0", "job-1", {"system_cpu_utilization_ratio"});
  SimSource second = Node(plan, "node-0", "job-2", {"system_cpu_utilization_ratio"});
  for (SimSource* job : {&first, &second}) {
    plan.Add(*job, job->Event(plan.now(), {.kind = JobEvent::Kind::kNotice,
                                           .reason = "gpu_split_unknown",
                                           .series = {"hw_gpu_utilization_ratio"}}));
  }
  plan.Run(90, [&](int64_t now) {
    node.Set("hw_gpu_utilization_ratio", 0.1);
    first.Set("system_cpu_utilization_ratio", 0.5);
    second.Set("system_cpu_utilization_ratio", 0.5);
    plan.Add(node, node.Row(now));
    plan.Add(first, first.Row(now));
    plan.Add(second, second.Row(now));
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 5s
    needs: [hw_gpu_utilization_ratio]
  - alert: Gap
    expr: count_over_time(system_cpu_utilization_ratio[5s]) < 4
    for: 5s
)",
                           plan);
  size_t found = 0;
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kIssueFound) {
      EXPECT_EQ(e.job, "node:node-0");
      EXPECT_EQ(e.alert, "LowGPU");
    }
    if (e.type == EventType::kRuleStatus && e.alert == "LowGPU" && e.job != "node:node-0") {
      EXPECT_EQ(e.status, RuleStatus::kNoData);
      EXPECT_THAT(e.status_reason, HasSubstr("gpu_split_unknown"));
      ++found;
    }
  }
  EXPECT_EQ(found, 2u);
  EXPECT_EQ(Counters().gaps, 0u);
}

TEST_P(Scenario, S10_ForeignSourceSendsEachMinuteAlongsideNativeSources) {
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  SimSource foreign(kJob, "otlp@x", "b", {.kind = SourceKind::kForeign}, {"queue_length"},
                    Labels({{"host", "x"}}));
  foreign.promises = false;
  int second = 0;
  plan.Run(400, [&](int64_t now) {
    foreign.Set("queue_length", 7);
    if (second++ % 60 == 0) plan.Add(foreign, foreign.Row(now));
    node.Set("hw_gpu_utilization_ratio", 0.9);
    plan.Add(node, node.Row(now));
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: Queue
    expr: queue_length > 5
    needs: [queue_length]
  - alert: Gone
    expr: absent(queue_length) and on() count(hw_gpu_utilization_ratio) > 0
    for: 5s
)",
                           plan);
  EXPECT_EQ(Dropped(Counters(), Drop::kLate), 0u);
  std::vector<std::string> issues = Issues(events);
  std::erase_if(issues, [](const std::string& line) { return StartsWith(line, "updated"); });
  EXPECT_THAT(issues, ElementsAre("found Queue{host=\"x\"}"));
}

TEST_P(Scenario, S11_ClocksOfThreeSourcesAreWrong) {
  const int64_t base = RecentBase();
  Plan plan(base);
  SimSource right = Node(plan, "right"), ahead = Node(plan, "ahead"), behind = Node(plan, "behind"),
            far = Node(plan, "far-ahead");
  ahead.clock_error_ns = 45 * kSecond;
  behind.clock_error_ns = -3600 * kSecond;
  far.clock_error_ns = 3600 * kSecond;
  for (SimSource* source : {&right, &ahead, &behind, &far})
    plan.Add(*source, source->Heartbeat(plan.now()));
  plan.Run(180, [&](int64_t now) {
    for (SimSource* source : {&right, &ahead, &behind, &far}) {
      source->Set("hw_gpu_utilization_ratio", source == &right || source == &ahead ? 0.05 : 0.9);
      plan.Add(*source, source->Row(now));
    }
  });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 10s
  - alert: WrongClock
    expr: pitwall_source_flagged == 1
)",
                           plan);
  std::vector<std::string> issues = Issues(events);
  EXPECT_THAT(issues, Contains("found LowGPU{gpu=\"0\",node=\"right\"}"));
  EXPECT_THAT(issues, Contains("found LowGPU{gpu=\"0\",node=\"ahead\"}"));
  EXPECT_THAT(issues, Contains(HasSubstr("WrongClock{node=\"behind\",reason=\"clock_behind\"")));
  EXPECT_THAT(issues, Contains(HasSubstr("WrongClock{node=\"far-ahead\",reason=\"clock_ahead\"")));
  EXPECT_THAT(issues, Not(Contains(HasSubstr("WrongClock{node=\"right\""))));
  EXPECT_THAT(issues, Not(Contains(HasSubstr("WrongClock{node=\"ahead\""))));
  EXPECT_GT(Dropped(Counters(), Drop::kClockAhead), 0u);
}

TEST_P(Scenario, S12_BacktestEqualsLiveRun) {
  // In the live run, the owner writes its own ticks while the sources send. The reference then
  // reads the same log.
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  options_.clock_ticks = true;
  Write({{plan.base(), "__control", RulesRecord(Publish(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: LowGPU
    expr: avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.2
    for: 5s
  - alert: Vanished
    expr: absent(hw_gpu_utilization_ratio)
    for: 10s
)")),
          ""}});
  const auto processor = Start();
  for (int s = 0; s < 120; ++s) {
    plan.Wait(kSecond);
    clock_.Advance(kSecond);
    if (s < 60) {
      node.Set("hw_gpu_utilization_ratio", s < 20 ? 0.9 : 0.1);
      Write({{plan.now(), kJob, node.Row(plan.now()), node.id()}});
    }
    for (int i = 0; i < 3; ++i) {
      const Status status =
          processor->RunOnce(Duration::Millis(LogKinds()[GetParam()].stamps_itself ? 50 : 0));
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  ASSERT_TRUE(processor->Finish().ok());
  const auto events = Events();
  EXPECT_THAT(Issues(events), Contains("found LowGPU{gpu=\"0\",node=\"node-0\"}"));
  EXPECT_THAT(Issues(events), Contains("found Vanished"));
  EXPECT_GT(processor->stats().counters.ticks, 60u);
  // The comparison covers the complete list, up to the record that the live run had read.
  // (tests/e2e covers `pitwall backtest --verify` itself.)
  EXPECT_EQ(Encoded(events), Encoded(Reference(processor->stats().commits.next_offset)));
}

TEST_P(Scenario, S13_BatchesAreResentFromMiddleOfSpool) {
  Plan plan(Base());
  SimSource node = Node(plan, "node-0");
  std::vector<std::string> sent;
  node.Set("hw_gpu_utilization_ratio", 0.1);
  plan.Run(30, [&](int64_t now) {
    sent.push_back(node.Row(now));
    plan.Add(node, sent.back());
  });
  for (int t = 0; t < 30; ++t) {  // the log rejects all writes, including clock ticks
    plan.Wait(kSecond);
    sent.push_back(node.Row(plan.now()));
  }
  // The collector restarts and sends its spool from the last acknowledged position, using its old
  // boot, so 11 batches are duplicates. It then continues with a new boot.
  for (size_t i = 19; i < sent.size(); ++i) plan.Add(node, sent[i]);
  SimSource fresh = Node(plan, "node-0", kJob, {"hw_gpu_utilization_ratio"}, "boot-2");
  fresh.Set("hw_gpu_utilization_ratio", 0.1);
  plan.Run(30, [&](int64_t now) { plan.Add(fresh, fresh.Row(now)); });
  const auto events = Play(R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: Gap
    expr: count_over_time(hw_gpu_utilization_ratio[5s]) != 5
    for: 6s
)",
                           plan);
  EXPECT_EQ(Dropped(Counters(), Drop::kDuplicate), 11u);
  EXPECT_EQ(Counters().gaps, 0u);
  EXPECT_EQ(Dropped(Counters(), Drop::kLate), 0u);
  EXPECT_EQ(Dropped(Counters(), Drop::kZombie), 0u);
  for (const IssueEvent& e : events) EXPECT_NE(e.type, EventType::kIssueFound);
}

TEST_P(Scenario, S14_TrainAndEvalInterleavedWithStepRollback) {
  Plan plan(Base());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1)};
  for (SimSource& rank : ranks) plan.Add(rank, rank.Announce(plan.now(), {"train", "eval"}));
  int64_t train = 0, eval = 0;
  const auto step = [&](std::string_view mode, int64_t number, double duration) {
    for (SimSource& rank : ranks) {
      rank.Set("train_step", static_cast<double>(number));
      rank.Set("train_step_duration_seconds", duration);
      plan.Add(rank, rank.StepDone(plan.now(), mode, number));
    }
  };
  int second = 0;
  plan.Run(60, [&](int64_t) {
    ++second;
    if (second % 4 == 0) {
      step("eval", eval++, 9);
    } else {
      step("train", train++, 1);
    }
  });
  train = 20;  // resumes from a checkpoint
  plan.Run(30, [&](int64_t) {
    step("train", train, train >= 40 ? 5 : 1);
    ++train;
  });
  const auto events = Play(R"(
groups:
- name: train
  clock: step
  mode: train
  interval: 1
  rules:
  - alert: SlowTrain
    expr: avg_over_time(train_step_duration_seconds[5]) > 3
  - alert: LongTrain
    expr: count_over_time(train_step_duration_seconds[30]) >= 30
- name: eval
  clock: step
  mode: eval
  interval: 1
  rules:
  - alert: SlowEval
    expr: avg_over_time(train_step_duration_seconds[5]) > 8
)",
                           plan);
  std::vector<std::string> issues = Issues(events);
  std::erase_if(issues, [](const std::string& line) { return StartsWith(line, "updated"); });
  EXPECT_THAT(issues,
              testing::IsSupersetOf({"found SlowEval{rank=\"0\"}", "found SlowEval{rank=\"1\"}",
                                     "found LongTrain{rank=\"0\"}",
                                     "resolved LongTrain{rank=\"0\"} attempt_ended",
                                     "found SlowTrain{rank=\"0\"}"}));
  for (const IssueEvent& e : events) {
    if (e.alert == "SlowTrain" && e.type == EventType::kIssueFound) {
      EXPECT_GE(e.step, 41);
      EXPECT_LE(e.step, 46);
    }
    if (e.alert == "SlowEval") {
      EXPECT_NE(e.type, EventType::kIssueResolved);
    }  // only the train steps moved back
  }
}

}  // namespace
}  // namespace pitwall::scenarios
