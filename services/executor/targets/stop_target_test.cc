#include "services/executor/targets/stop_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StopTargetTest : public ExecutorTest {
 protected:
  static IssueEvent ClusterIssue(std::string job, std::string uid, uint64_t sequence = 1) {
    IssueEvent e = Issue(std::move(job), 1, sequence);
    e.reference = {.platform = "kubernetes", .namespace_name = "ml", .kind = "Job"};
    e.reference.uid = std::move(uid);
    return e;
  }
  ExecutorOptions WithTarget() {
    ExecutorOptions options = Options();
    options.targets = {&target_};
    return options;
  }

  FakeTarget target_{"kubernetes"};
};

TEST_F(StopTargetTest, ReferenceSelectsTarget) {
  target_.Run("u1");
  processes_.Run(17, 170);
  Run(WithTarget());
  Publish(ClusterIssue("cluster", "u1"));
  Publish(Issue("local", 17));
  Pass([&] { return Actions().size() == 4; });
  ASSERT_EQ(target_.stops().size(), 1U);
  const ActionEvent stop = target_.stops()[0];
  EXPECT_EQ(stop.job, "cluster");
  EXPECT_EQ(stop.target.uid, "u1");
  EXPECT_EQ(stop.owner, "uid:1000");
  EXPECT_EQ(stop.rule, "p/g/A");
  EXPECT_THAT(stop.evidence, ::testing::SizeIs(1));
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  for (const ActionEvent& action : Actions()) {
    if (action.job != "cluster") continue;
    EXPECT_THAT(action.why, HasSubstr("the issue is open and job u1 is running"));
    if (action.type != ActionEventType::kDone) continue;
    EXPECT_EQ(action.effect, "suspended; no pod is active");
  }
  // The executor stops the job only once.
  target_.Run("u1");
  Publish(ClusterIssue("cluster", "u1", 2));
  Settle();
  EXPECT_EQ(target_.stops().size(), 1U);
}

TEST_F(StopTargetTest, RecordsRefusalByTarget) {
  Run(WithTarget());
  Publish(ClusterIssue("j", "gone"));
  Pass([&] { return Actions().size() == 1; });
  EXPECT_EQ(Actions()[0].type, ActionEventType::kRefused);
  EXPECT_EQ(Actions()[0].why, "policy p/*: live; refused: no such job");
  EXPECT_THAT(target_.stops(), IsEmpty());
}

TEST_F(StopTargetTest, FailedStopReportsReason) {
  target_.Run("u1");
  target_.error = Unavailable("nobody answers");
  Run(WithTarget());
  Publish(ClusterIssue("j", "u1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(Actions()[1].effect, "failed: nobody answers");
}

TEST_F(StopTargetTest, StopWithoutPermission_IsRefusedOnce) {
  target_.Run("u1");
  target_.error = absl::PermissionDeniedError("403: the right to patch jobs is missing");
  Run(WithTarget());
  Publish(ClusterIssue("j", "u1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "refused live"));
  EXPECT_THAT(Actions()[1].why, HasSubstr("; refused: 403: the right to patch jobs is missing"));
  EXPECT_EQ(Actions()[1].effect, "");
  EXPECT_EQ(executor_->counters().refused.value(), 1U);
  // The same issue is not refused again, even though a restart rechecks decisions without an
  // outcome.
  Publish(ClusterIssue("j", "u1", 2));
  Settle();
  executor_.reset();
  Run(WithTarget());
  Settle();
  EXPECT_EQ(Actions().size(), 2U);
}

TEST_F(StopTargetTest, StopWithoutEffect_IsReportedAfterGrace) {
  target_.Run("u1");
  target_.ends = false;
  Run(WithTarget());
  Publish(ClusterIssue("j", "u1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(Actions()[1].effect, "suspended; the job is still running after 30000 ms");
}

TEST_F(StopTargetTest, DryRunDoesNotStopJob) {
  target_.Run("u1");
  ExecutorOptions options = WithTarget();
  options.policies[0].mode = PolicyMode::kDryRun;
  Run(options);
  Publish(ClusterIssue("j", "u1"));
  Pass([&] { return Actions().size() == 1; });
  EXPECT_THAT(Kinds(), ElementsAre("decided dry_run"));
  EXPECT_THAT(target_.stops(), IsEmpty());
}

TEST_F(StopTargetTest, ExemptJobsAreNeverStopped) {
  for (const char* uid : {"u1", "u2", "u3", "u4"}) target_.Run(uid);
  ExecutorOptions options = WithTarget();
  options.exempt = {
      {.job = "prod-*"}, {.namespace_name = "kube-*"}, {.job = "x", .owner = "uid:1000"}};
  Run(options);
  Publish(ClusterIssue("prod-1", "u1"));
  IssueEvent system = ClusterIssue("system", "u2");
  system.reference.namespace_name = "kube-system";
  Publish(system);
  Publish(ClusterIssue("x", "u3"));
  IssueEvent named = ClusterIssue("y", "u4");
  named.owner = "uid:1001";
  named.job_name = "x";  // exempt only for a different owner
  Publish(named);
  Pass([&] { return Actions().size() == 5; });
  ASSERT_EQ(target_.stops().size(), 1U);
  EXPECT_EQ(target_.stops()[0].job, "y");
  std::map<std::string, std::string> why;
  for (const ActionEvent& action : Actions()) why[action.job] = action.why;
  EXPECT_THAT(why["prod-1"], HasSubstr("refused: exempt by executor.exempt: job prod-*"));
  EXPECT_THAT(why["system"], HasSubstr("exempt by executor.exempt: namespace kube-*"));
  EXPECT_THAT(why["x"], HasSubstr("exempt by executor.exempt: job x, owner uid:1000"));
}

TEST_F(StopTargetTest, RejectsExemptionOfAllJobs) {
  ExecutorOptions options = Options();
  options.exempt = {{}};
  EXPECT_FALSE(Executor::Make(&clock_, &log_, &processes_, options).ok());
}

// Node executors and a cluster executor share the work. No executor refuses a job that another
// executor handles.
TEST_F(StopTargetTest, SkipsJobsOfOtherExecutors) {
  target_.Run("u1");
  processes_.Run(17, 170);
  ExecutorOptions node = Options();
  node.others_elsewhere = true;
  Run(node);
  ExecutorOptions cluster = WithTarget();
  cluster.node = "_cluster";
  cluster.processes = false;
  cluster.others_elsewhere = true;
  auto made = Executor::Make(&clock_, &log_, &processes_, cluster);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE((*made)->Start().ok());
  Publish(ClusterIssue("cluster", "u1"));
  Publish(Issue("local", 17));
  Pass([&] { return executor_->counters().done.value() + (*made)->counters().done.value() == 2; });
  EXPECT_EQ(Actions().size(), 4U);
  EXPECT_EQ(target_.stops().size(), 1U);
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_EQ(executor_->counters().elsewhere.value(), 1U);
  EXPECT_EQ((*made)->counters().elsewhere.value(), 1U);
}

// Simulates an executor that crashed between a decision and its outcome.
TEST_F(StopTargetTest, Restart_StopIsCheckedAndNotRepeated) {
  target_.Run("u1");
  Run(WithTarget());
  executor_.reset();
  ActionEvent decision;
  const IssueEvent issue = ClusterIssue("j", "u1");
  decision.issue = issue.id;
  decision.job = "j";
  decision.owner = issue.owner;
  decision.rule = issue.rule;
  decision.mode = ActionMode::kLive;
  decision.target = issue.reference;
  decision.id = MakeActionId(decision);
  OutgoingRecord record;
  record.topic = "pitwall.actions";
  record.key = "j";
  record.value = cloudevents::EncodeCloudEvent(decision);
  ASSERT_TRUE((*log_.OpenAppender())->Append({record}).ok());
  Run(WithTarget());
  Publish(ClusterIssue("j", "u1", 2));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  EXPECT_THAT(Actions()[1].effect, HasSubstr("still running: the executor restarted"));
  EXPECT_THAT(target_.stops(), IsEmpty());
}

}  // namespace
}  // namespace pitwall::executor
