// The scenarios of time-model.md, section 9, by number and name: restarts, splits, foreign sources,
// clocks, replay, spools, and steps. Each runs with every log.
#include <gmock/gmock.h>

#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_P(Scenario, S08_RanksRestartOneByOneWhileZombiesStillSend) {
  Plan plan(Base());
  // One rank restarts every two seconds; rank 0 restarts third. The old processes continue to send.
  plan.Play(R"(
collector@node-0(labels={gpu=0,node=node-0}) beats
rank-0..3(boot=boot-1 node=node-0 modes=train) beats
collector@node-0 sends hw_gpu_utilization_ratio=0.05 @1s..60s
rank-0..3(boot=boot-1 start=0s) steps 0..39 train_step_duration_seconds=1 @1s
rank-2(boot=boot-2 start=22s) beats @22s..30s
rank-3(boot=boot-2 start=24s) beats @24s..30s
rank-0(boot=boot-2 start=26s) beats @26s..30s
rank-1(boot=boot-2 start=28s) beats @28s..30s
rank-2(boot=boot-2 start=22s) steps 5..34 train_step_duration_seconds=1 @31s
rank-3(boot=boot-2 start=24s) steps 5..34 train_step_duration_seconds=1 @31s
rank-0(boot=boot-2 start=26s) steps 5..34 train_step_duration_seconds=1 @31s
rank-1(boot=boot-2 start=28s) steps 5..34 train_step_duration_seconds=1 @31s
owner ticks @1s..60s
)");
  const auto events = Play(EverySecond(R"(
  - {alert: LowGPU, expr: "hw_gpu_utilization_ratio < 0.2", for: 5s}
  - {alert: Attempt, expr: "max(train_step) >= 10", scope: attempt}
)"),
                           plan);
  EXPECT_GT(Dropped(Drop::kZombie), 0u);
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
  plan.Play(R"(
collector@node-0,job-2/collector@node-0 notice gpu_split_unknown hides=hw_gpu_utilization_ratio
node:node-0/collector@node-0 sends hw_gpu_utilization_ratio=0.1 @1s..90s
collector@node-0,job-2/collector@node-0 sends system_cpu_utilization_ratio=0.5 @1s..90s
owner ticks @1s..90s
)");
  const auto events = Play(EverySecond(R"(
  - alert: LowGPU
    expr: hw_gpu_utilization_ratio < 0.2
    for: 5s
    needs: [hw_gpu_utilization_ratio]
  - {alert: Gap, expr: "count_over_time(system_cpu_utilization_ratio[5s]) < 4", for: 5s}
)"),
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
  plan.Play(R"(
foreign:otlp@x(labels={host=x}) sends queue_length=7 @1s..400s every 60s
collector@node-0 sends hw_gpu_utilization_ratio=0.9 @1s..400s
owner ticks @1s..400s
)");
  const auto events = Play(EverySecond(R"(
  - {alert: Queue, expr: "queue_length > 5", needs: [queue_length]}
  - alert: Gone
    expr: absent(queue_length) and on() count(hw_gpu_utilization_ratio) > 0
    for: 5s
)"),
                           plan);
  EXPECT_EQ(Dropped(Drop::kLate), 0u);
  EXPECT_THAT(BeginsAndEnds(events), ElementsAre("found Queue{host=\"x\"}"));
}

TEST_P(Scenario, S11_ClocksOfThreeSourcesAreWrong) {
  Plan plan(RecentBase());
  plan.Play(R"(
collector@right(labels={gpu=0,node=right}) beats
collector@ahead(labels={gpu=0,node=ahead} clock_error=45s) beats
collector@behind(labels={gpu=0,node=behind} clock_error=-1h) beats
collector@far-ahead(labels={gpu=0,node=far-ahead} clock_error=1h) beats
collector@right,collector@ahead sends hw_gpu_utilization_ratio=0.05 @1s..180s
collector@behind,collector@far-ahead sends hw_gpu_utilization_ratio=0.9 @1s..180s
owner ticks @1s..180s
)");
  const auto events = Play(EverySecond(R"(
  - {alert: LowGPU, expr: "hw_gpu_utilization_ratio < 0.2", for: 10s}
  - {alert: WrongClock, expr: "pitwall_source_flagged == 1"}
)"),
                           plan);
  std::vector<std::string> issues = Issues(events);
  EXPECT_THAT(issues, Contains("found LowGPU{gpu=\"0\",node=\"right\"}"));
  EXPECT_THAT(issues, Contains("found LowGPU{gpu=\"0\",node=\"ahead\"}"));
  EXPECT_THAT(issues, Contains(HasSubstr("WrongClock{node=\"behind\",reason=\"clock_behind\"")));
  EXPECT_THAT(issues, Contains(HasSubstr("WrongClock{node=\"far-ahead\",reason=\"clock_ahead\"")));
  EXPECT_THAT(issues, Not(Contains(HasSubstr("WrongClock{node=\"right\""))));
  EXPECT_THAT(issues, Not(Contains(HasSubstr("WrongClock{node=\"ahead\""))));
  EXPECT_GT(Dropped(Drop::kClockAhead), 0u);
}

TEST_P(Scenario, S12_BacktestEqualsLiveRun) {
  // In the live run, the owner writes its own ticks while the sources send. The reference then
  // reads the same log.
  telemetry_script::ScriptedSources sources(kJob);
  const auto write = [&](std::string_view script) { Write(sources.Play(script, Base())); };
  options_.clock_ticks = true;
  write(Cat("owner loads ", Publish(EverySecond(R"rules(
  - {alert: LowGPU, expr: "avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.2", for: 5s}
  - {alert: Vanished, expr: "absent(hw_gpu_utilization_ratio)", for: 10s}
)rules"))));
  const auto processor = Start();
  for (int second = 1; second <= 120; ++second) {
    clock_.Advance(kSecond);
    if (second <= 60) {
      write(Cat("collector@node-0(labels={gpu=0,node=node-0}) sends hw_gpu_utilization_ratio=",
                second <= 20 ? 0.9 : 0.1, " @", second, "s"));
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
  // The log rejects all writes for 30 s, including clock ticks. The collector restarts and sends
  // its spool from the last acknowledged position, using its old boot, so 11 batches are
  // duplicates. It then continues with a new boot.
  plan.Play(R"(
collector@node-0 sends hw_gpu_utilization_ratio=0.1 @1s..19s
collector@node-0 sends hw_gpu_utilization_ratio=0.1 @20s..30s again 60s
collector@node-0 sends hw_gpu_utilization_ratio=0.1 @31s..60s arrives 60s
owner ticks @1s..30s
collector@node-0(boot=boot-2) sends hw_gpu_utilization_ratio=0.1 @61s..90s
owner ticks @61s..90s
)");
  const auto events = Play(EverySecond(R"(
  - {alert: Gap, expr: "count_over_time(hw_gpu_utilization_ratio[5s]) != 5", for: 6s}
)"),
                           plan);
  EXPECT_EQ(Dropped(Drop::kDuplicate), 11u);
  EXPECT_EQ(Counters().gaps, 0u);
  EXPECT_EQ(Dropped(Drop::kLate), 0u);
  EXPECT_EQ(Dropped(Drop::kZombie), 0u);
  for (const IssueEvent& e : events) EXPECT_NE(e.type, EventType::kIssueFound);
}

TEST_P(Scenario, S14_TrainAndEvalInterleavedWithStepRollback) {
  Plan plan(Base());
  std::string script = "rank-0..1(modes=train,eval) beats\n";
  int train = 0, eval = 0;
  for (int second = 1; second <= 60; ++second) {
    const bool evaluates = second % 4 == 0;
    CatTo(script, "rank-0..1 steps ", evaluates ? eval++ : train++, " of ",
          evaluates ? "eval train_step_duration_seconds=9 @"
                    : "train train_step_duration_seconds=1 @",
          second, "s\n");
  }
  // The job resumes from a checkpoint at step 20.
  plan.Play(Cat(script, R"(
rank-0..1 steps 20..39 train_step_duration_seconds=1 @61s
rank-0..1 steps 40..49 train_step_duration_seconds=5 @81s
owner ticks @1s..90s
)"));
  const auto events = Play(Cat("groups:\n", EachStep("train", R"(
  - {alert: SlowTrain, expr: "avg_over_time(train_step_duration_seconds[5]) > 3"}
  - {alert: LongTrain, expr: "count_over_time(train_step_duration_seconds[30]) >= 30"}
)"),
                               EachStep("eval", R"(
  - {alert: SlowEval, expr: "avg_over_time(train_step_duration_seconds[5]) > 8"}
)")),
                           plan);
  EXPECT_THAT(BeginsAndEnds(events),
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
