#include "services/executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "services/codec/telemetry_codec.h"
#include "services/executor/testing/executor_fixture.h"
#include "services/model/issues/job_end.h"

namespace pitwall::executor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ExecutorTest, StopsProcessOnceAndRecordsEffect) {
  processes_.Run(17, 170);
  Run(Options());
  const IssueEvent found = Issue("j", 17);
  Publish(found);
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  const ActionEvent decided = Actions()[0], done = Actions()[1];
  EXPECT_EQ(decided.issue, found.id);
  EXPECT_EQ(decided.issue_event, found.id);
  EXPECT_EQ(decided.target, found.reference);
  EXPECT_EQ(decided.time, found.time);
  EXPECT_EQ(decided.evidence, found.evidence);
  EXPECT_EQ(decided.why,
            "policy p/*: live; the issue is open and process 17 on n1 is running as "
            "uid:1000, the owner of the job");
  EXPECT_EQ(decided.owner, "uid:1000");
  EXPECT_EQ(done.effect, "SIGTERM sent; the process exited");
  // Updates to the same issue have no effect, even if a process with the same identity reappears.
  processes_.Run(17, 170);
  Publish(Issue("j", 17, 2, EventType::kIssueUpdated));
  Settle();
  EXPECT_EQ(Actions().size(), 2U);
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_EQ(executor_->counters().decided_live.value(), 1U);
}

// A stopped job ends immediately (time-model.md, section 4).
TEST_F(ExecutorTest, StoppedJobGetsStopNoticeAndEndEvent) {
  ASSERT_TRUE(log_.EnsureTopic("pitwall.telemetry", {1, false, -1}).ok());
  processes_.Run(17, 170);
  Run(Options());
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 2; });
  const std::vector<Record> records = log_.Records("pitwall.telemetry", 0);
  ASSERT_EQ(records.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(records[i].key, "j");
    codec::BatchDecoder decoder;
    const auto record = decoder.Decode(records[i].value);
    ASSERT_TRUE(record.ok()) << record.status();
    const Batch& batch = *record->batch;
    EXPECT_EQ(batch.job, "j");
    EXPECT_EQ(batch.source, "executor@n1");
    EXPECT_EQ(batch.boot_id, Actions()[i].id);  // equal IDs mark a repeated notice as a duplicate
    EXPECT_EQ(batch.info.kind, SourceKind::kForeign);
    EXPECT_EQ(batch.promise.ns(), 0);
    ASSERT_EQ(batch.events.size(), 1U);
    EXPECT_EQ(batch.events[0].kind, i == 0 ? JobEvent::Kind::kNotice : JobEvent::Kind::kEnded);
    EXPECT_EQ(batch.events[0].reason, i == 0 ? "stopping" : "stopped");
    EXPECT_EQ(StoppedByOf(batch.events[0]), Cat("rule ", Actions()[i].rule));
    EXPECT_LE(batch.events[0].time.ns(), clock_.WallNs());
  }
}

TEST_F(ExecutorTest, JobIsNotifiedOfRefusedStop) {
  ASSERT_TRUE(log_.EnsureTopic("pitwall.telemetry", {1, false, -1}).ok());
  processes_.Run(17, 170);
  processes_.signal_error = absl::PermissionDeniedError("not ours");
  Run(Options());
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 2; });
  std::vector<std::string> reasons;
  for (const Record& record : log_.Records("pitwall.telemetry", 0)) {
    codec::BatchDecoder decoder;
    const auto decoded = decoder.Decode(record.value);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    const JobEvent& word = decoded->batch->events.at(0);
    EXPECT_EQ(word.kind, JobEvent::Kind::kNotice);
    reasons.push_back(word.reason);
  }
  EXPECT_THAT(reasons, ElementsAre("stopping", "stop_refused"));
}

TEST_F(ExecutorTest, DryRunDoesNotNotifyJob) {
  ASSERT_TRUE(log_.EnsureTopic("pitwall.telemetry", {1, false, -1}).ok());
  processes_.Run(17, 170);
  ExecutorOptions options;
  options.node = "n1";
  Run(options);
  IssueEvent asks = Issue("j", 17);
  asks.labels = Labels{{"alertname", "A"}, {"action", "stop"}};
  Publish(asks);
  Pass([&] { return Actions().size() == 1; });
  EXPECT_EQ(Actions()[0].mode, ActionMode::kDryRun);
  EXPECT_TRUE(log_.Records("pitwall.telemetry", 0).empty());
}

TEST_F(ExecutorTest, WithoutPolicy_OnlyLabeledRulesGetDryRun) {
  processes_.Run(17, 170);
  ExecutorOptions options;
  options.node = "n1";
  Run(options);
  IssueEvent plain = Issue("j", 17);
  plain.labels = Labels{{"alertname", "A"}};
  plain.id = MakeEventId(plain);
  Publish(plain);
  Publish(Issue("k", 17));
  Pass([&] { return !Actions().empty(); });
  Publish(Issue("k", 17, 2, EventType::kIssueUpdated));
  Settle();
  EXPECT_THAT(Kinds(), ElementsAre("decided dry_run"));
  EXPECT_EQ(Actions()[0].job, "k");
  EXPECT_THAT(Actions()[0].why, HasSubstr("label action=stop, no policy: dry run"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(ExecutorTest, PolicyOff_TakesNoAction) {
  processes_.Run(17, 170);
  Run(Options(PolicyMode::kOff));
  Publish(Issue("j", 17));
  Settle();
  EXPECT_THAT(Actions(), IsEmpty());
}

TEST_F(ExecutorTest, SwitchFromDryRunToLive_ActsOnOpenIssue) {
  processes_.Run(17, 170);
  Run(Options(PolicyMode::kDryRun));
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 1; });
  executor_.reset();
  Run(Options(PolicyMode::kLive));
  Settle();
  EXPECT_THAT(processes_.signals(), IsEmpty()) << "not before the next event of the open issue";
  Publish(Issue("j", 17, 2, EventType::kIssueUpdated));
  Pass([&] { return Actions().size() == 3; });
  EXPECT_THAT(Kinds(), ElementsAre("decided dry_run", "decided live", "done live"));
  EXPECT_EQ(Actions()[1].issue, Actions()[0].issue);
}

TEST_F(ExecutorTest, RefusesProcessWithAnotherIdentity) {
  processes_.Run(17, 999);  // the pid was reused
  processes_.Run(20, 200);
  Run(Options());
  Publish(Issue("replaced", 17));
  Publish(Issue("gone", 18));
  IssueEvent cluster = Issue("cluster", 20);
  cluster.reference.platform = "kubernetes";
  Publish(cluster);
  IssueEvent malformed = Issue("malformed", 20);
  malformed.reference.uid = "20";
  Publish(malformed);
  Pass([&] { return Actions().size() == 4; });
  std::map<std::string, std::string> why;
  for (const ActionEvent& action : Actions()) {
    EXPECT_EQ(action.type, ActionEventType::kRefused);
    why[action.job] = action.why;
  }
  EXPECT_THAT(why["replaced"], HasSubstr("pid 17 now belongs to another process"));
  EXPECT_THAT(why["gone"], HasSubstr("process 18 is gone"));
  EXPECT_THAT(why["cluster"], HasSubstr("platform \"kubernetes\""));
  EXPECT_THAT(why["malformed"], HasSubstr("malformed"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
  // The issue is refused only once.
  Publish(Issue("gone", 18, 2, EventType::kIssueUpdated));
  Settle();
  EXPECT_EQ(Actions().size(), 4U);
}

TEST_F(ExecutorTest, RefusesProcessOfAnotherOwner) {
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  Run(Options());
  IssueEvent other = Issue("other", 17);
  other.owner = "uid:1001";
  Publish(other);
  IssueEvent unknown = Issue("unknown", 18);
  unknown.owner.clear();
  Publish(unknown);
  Pass([&] { return Actions().size() == 2; });
  std::map<std::string, std::string> why;
  for (const ActionEvent& action : Actions()) {
    EXPECT_EQ(action.type, ActionEventType::kRefused);
    why[action.job] = action.why;
  }
  EXPECT_THAT(why["other"],
              HasSubstr("process 17 does not belong to uid:1001, the owner of the job"));
  EXPECT_THAT(why["unknown"], HasSubstr("the job's owner is unknown"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
  EXPECT_EQ(executor_->counters().refused_owner.value(), 2U);
}

// Each node's executor acts only on processes on that node.
TEST_F(ExecutorTest, ActsOnlyOnProcessesOfItsNode) {
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  Run(Options());
  FakeProcesses elsewhere;
  elsewhere.Run(17, 170);
  ExecutorOptions options = Options();
  options.node = "n2";
  auto made = Executor::Make(&clock_, &log_, &elsewhere, options);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE((*made)->Start().ok());
  IssueEvent there = Issue("there", 17);
  there.reference.uid = "17@n2/170";
  Publish(there);
  Publish(Issue("here", 18));
  Pass([&] { return executor_->counters().done.value() + (*made)->counters().done.value() == 2; });
  EXPECT_THAT(elsewhere.signals(), ElementsAre(17));
  EXPECT_THAT(processes_.signals(), ElementsAre(18));
  EXPECT_EQ(Actions().size(), 4U) << "jobs of other executors are not refused";
  EXPECT_EQ(executor_->counters().elsewhere.value(), 1U);
  EXPECT_EQ((*made)->counters().elsewhere.value(), 1U);
  EXPECT_TRUE(executor_->Health().ok()) << executor_->Health();
  EXPECT_TRUE((*made)->Health().ok()) << (*made)->Health();
}

// The job moved to another node before the executor decided.
TEST_F(ExecutorTest, JobThatMovedAway_IsSkipped) {
  processes_.Run(17, 170);
  Run(Options());
  executor_.reset();
  ASSERT_TRUE(log_.StorePosition("pitwall-executor-n1", {"pitwall.issues", 0}, {0, ""}).ok());
  Publish(Issue("j", 17));
  IssueEvent moved = Issue("j", 17, 2, EventType::kIssueUpdated);
  moved.reference.uid = "5@n2/50";
  Publish(moved);
  Run(Options());
  Settle();
  EXPECT_THAT(Actions(), IsEmpty());
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(ExecutorTest, IssueThatHasEnded_IsSkipped) {
  processes_.Run(17, 170);
  Run(Options());
  executor_.reset();  // the issue is found and ends while the executor is down
  ASSERT_TRUE(log_.StorePosition("pitwall-executor-n1", {"pitwall.issues", 0}, {0, ""}).ok());
  Publish(Issue("j", 17));
  Publish(Issue("j", 17, 2, EventType::kIssueResolved));
  Run(Options());
  Settle();
  EXPECT_THAT(Actions(), IsEmpty());
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(ExecutorTest, FirstStart_ReadsFromEndOfLog) {
  processes_.Run(17, 170);
  Publish(Issue("j", 17));
  Run(Options());
  Settle();
  EXPECT_THAT(Actions(), IsEmpty());
}

TEST_F(ExecutorTest, BudgetIsSharedAndCoolDownIsPerJob) {
  for (int64_t pid = 20; pid < 30; ++pid) processes_.Run(pid, static_cast<uint64_t>(pid) * 10);
  ExecutorOptions options = Options();
  options.budget = 3;
  Run(options);
  for (int64_t i = 0; i < 8; ++i) Publish(Issue(Cat("j", i), 20 + i), static_cast<int32_t>(i % 2));
  Pass([&] { return Actions().size() == 3 * 2 + 5; });
  EXPECT_EQ(processes_.signals().size(), 3U);
  EXPECT_EQ(executor_->counters().refused.value(), 5U);
  // An action by another rule on the same job waits for the cool-down, regardless of the budget.
  executor_.reset();
  options.budget = 100;
  Run(options);
  std::string job;
  for (const ActionEvent& action : Actions()) {
    if (action.type == ActionEventType::kDecided) job = action.job;
  }
  IssueEvent second = Issue(job, 29);
  second.rule = "p/g/B";
  second.time += Duration::Seconds(100);
  second.id = MakeEventId(second);
  Publish(second);
  Pass([&] { return executor_->counters().refused.value() == 1; });
  second.sequence = 2;
  second.type = EventType::kIssueUpdated;
  second.time += Duration::Seconds(600);
  second.id = MakeEventId(second);
  Publish(second);
  Pass([&] { return executor_->counters().done.value() == 1; });
  EXPECT_EQ(processes_.signals().back(), 29);
}

TEST_F(ExecutorTest, ActsOnlyOnCommittedDecisions) {
  processes_.Run(17, 170);
  Run(Options());
  std::atomic<int> faults{3};
  log_.SetWriteFault([&](std::string_view what) {
    return what == "commit" && faults > 0 && faults-- > 0 ? Unavailable("broker away") : OkStatus();
  });
  processes_.before_signal = [&] { EXPECT_EQ(Kinds(), std::vector<std::string>{"decided live"}); };
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_GE(executor_->counters().failed_commits.value(), 3U);
  EXPECT_TRUE(executor_->Health().ok());
  log_.SetWriteFault(nullptr);  // the fault refers to local variables
}

TEST_F(ExecutorTest, CrashBeforeOutcome_DoesNotSignalAgain) {
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  processes_.exits = false;
  Run(Options());
  Publish(Issue("a", 17));
  Publish(Issue("b", 18));
  Pass([&] { return processes_.signals().size() == 2; });
  // Simulates a crash before the outcomes are written to the log.
  log_.SetWriteFault([](std::string_view) { return Unavailable("crashed"); });
  executor_.reset();
  log_.SetWriteFault(nullptr);
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "decided live"));
  processes_.End(18);
  Run(Options());
  Publish(Issue("a", 17, 2, EventType::kIssueUpdated));
  Pass([&] { return Actions().size() == 4; });
  EXPECT_EQ(processes_.signals().size(), 2U);
  std::map<std::string, std::string> effects;
  for (const ActionEvent& action : Actions()) {
    if (action.type == ActionEventType::kDone) effects[action.job] = action.effect;
  }
  EXPECT_THAT(effects["a"], HasSubstr("still running"));
  EXPECT_THAT(effects["b"], HasSubstr("no longer running"));
  // By the third start, all outcomes have been recorded.
  executor_.reset();
  Run(Options());
  Settle();
  EXPECT_EQ(Actions().size(), 4U);
}

TEST_F(ExecutorTest, RecordsEffectOfSignal) {
  processes_.exits = false;
  processes_.Run(17, 170);
  Run(Options());
  Publish(Issue("stays", 17));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(Actions()[1].effect, "SIGTERM sent; the process is still running after 30000 ms");
  executor_.reset();

  processes_.Run(18, 180);
  processes_.signal_error = absl::PermissionDeniedError("not ours");
  Run(Options());
  Publish(Issue("denied", 18));
  Pass([&] { return executor_->counters().refused.value() == 1; });
  std::set<std::string> reasons;  // the order across partitions is undefined
  for (const ActionEvent& action : Actions()) reasons.insert(action.why);
  EXPECT_THAT(reasons, Contains(HasSubstr("; refused: not ours")));
  executor_.reset();

  // The process exits between the last check and the signal.
  processes_.signal_error = NotFound("process 18 is gone");
  Run(Options());
  Publish(Issue("late", 18));
  Pass([&] { return executor_->counters().done.value() == 1; });
  std::set<std::string> effects;
  for (const ActionEvent& action : Actions()) effects.insert(action.effect);
  EXPECT_TRUE(effects.contains("not found, so nothing was stopped: process 18 is gone"));
}

TEST_F(ExecutorTest, StopRecordsPendingOutcome) {
  processes_.exits = false;
  processes_.Run(17, 170);
  Run(Options());
  Publish(Issue("j", 17));
  Pass([&] { return processes_.signals().size() == 1; });
  executor_->Stop();
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  EXPECT_EQ(Actions()[1].effect, "SIGTERM sent; the executor stopped before it observed an effect");
}

// A new executor starts before the old executor stops. The two fence each other, and neither
// repeats the other's actions.
TEST_F(ExecutorTest, TwoExecutorsOfOneNode_SignalOnce) {
  processes_.Run(17, 170);
  Run(Options());
  const auto first = std::move(executor_);
  Run(Options());
  Publish(Issue("j", 17));
  Pass([&] { return first->counters().failed_commits.value() > 0 && Actions().size() == 2; });
  processes_.Run(17, 170);
  for (int i = 0; i < 20; ++i) {
    clock_.AwaitWaiters(4);
    clock_.Advance(500 * kNanosPerMilli);
  }
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_EQ(Actions().size(), 2U);
}

// Decisions by executors on other nodes also count, even though they are read only before a new
// decision.
TEST_F(ExecutorTest, DecisionOfAnotherNode_IsNotRepeated) {
  processes_.Run(17, 170);
  Run(Options());
  IssueEvent there = Issue("j", 5);
  there.reference.uid = "5@n2/50";
  FakeProcesses elsewhere;
  elsewhere.Run(5, 50);
  ExecutorOptions options = Options();
  options.node = "n2";
  auto made = Executor::Make(&clock_, &log_, &elsewhere, options);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE((*made)->Start().ok());
  Publish(there);
  Pass([&] { return Actions().size() == 2; });
  Publish(Issue("j", 17, 2, EventType::kIssueUpdated));  // the job has resumed on this node
  Pass([&] { return executor_->counters().events.value() == 2; });
  Settle();
  EXPECT_THAT(processes_.signals(), IsEmpty());
  EXPECT_EQ(Actions().size(), 2U);
}

TEST_F(ExecutorTest, BadRecordsAreCountedAndSkipped) {
  processes_.Run(17, 170);
  Run(Options());
  OutgoingRecord bad;
  bad.topic = kIssuesTopic;
  bad.partition = 0;
  bad.value = "garbage";
  ASSERT_TRUE((*log_.OpenAppender())->Append({bad}).ok());
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(executor_->counters().undecodable.value(), 1U);
}

TEST_F(ExecutorTest, RejectsInvalidOptions) {
  ExecutorOptions options = Options();
  options.policies[0].rule = "";
  EXPECT_FALSE(Executor::Make(&clock_, &log_, &processes_, options).ok());
  options = Options();
  options.budget = -1;
  EXPECT_FALSE(Executor::Make(&clock_, &log_, &processes_, options).ok());
  options = Options();
  options.issues_topic = "nowhere";
  EXPECT_EQ((*Executor::Make(&clock_, &log_, &processes_, options))->Start().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ExecutorTest, StopsRealProcess) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto real = MakeLinuxProcessControl();
  auto executor = Executor::Make(&clock_, &log_, real.get(), Options());
  ASSERT_TRUE(executor.ok());
  ASSERT_TRUE((*executor)->Start().ok());
  IssueEvent event = Issue("j", child);
  event.reference.uid = MakeProcessUid({child, "n1", *ProcessStartTicks(child), ""});
  event.owner = Cat("uid:", geteuid());
  Publish(event);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(Actions()[1].effect, "SIGTERM sent; the process exited");
}

}  // namespace
}  // namespace pitwall::executor
