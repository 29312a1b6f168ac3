// Tests for jobs with several processes. The executor signals all processes, and the job has
// stopped once all processes have exited.
#include "services/executor/targets/process_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Issue 26, C3: only one process was signaled, and the job was reported as stopped while its other
// processes were still running.
TEST_F(ExecutorTest, JobWithSeveralProcesses_StopsOnceAllHaveExited) {
  for (const int64_t pid : {17, 18, 19}) processes_.Run(pid, pid * 10);
  processes_.exits = false;
  ExecutorOptions options = Options();
  options.policies[0].grace_ns = 3600 * kNanosPerSecond;
  Run(options);
  IssueEvent found = Issue("j", 17);
  found.reference.uid += "+18/180+19/190";
  found.id = MakeEventId(found);
  Publish(found);
  Pass([&] { return processes_.signals().size() == 3; });
  ASSERT_THAT(processes_.signals(), ElementsAre(17, 18, 19));
  EXPECT_THAT(Actions()[0].why, HasSubstr("processes 17, 18, 19 on n1 are running as uid:1000"));
  processes_.End(17);
  processes_.End(19);
  for (int i = 0; i < 10; ++i) {
    Settle();
    clock_.Advance(200 * kNanosPerMilli);
  }
  EXPECT_EQ(Actions().size(), 1U) << "process 18 is still running";
  processes_.End(18);
  Pass([&] { return Actions().size() == 2; });
  EXPECT_EQ(Actions()[1].effect, "SIGTERM sent to 3 of 3 processes; all 3 processes exited");
}

TEST_F(ExecutorTest, JobWithRemainingProcess_IsNotReportedAsStopped) {
  ASSERT_TRUE(log_.EnsureTopic("pitwall.telemetry", {1, false, -1}).ok());
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  processes_.exits = false;
  Run(Options());
  IssueEvent found = Issue("j", 17);
  found.reference.uid += "+18/180+19/190";
  found.id = MakeEventId(found);
  Publish(found);
  Pass([&] { return processes_.signals().size() == 2; });
  processes_.End(17);
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Actions()[1].effect, HasSubstr("SIGTERM sent to 2 of 3 processes"));
  EXPECT_THAT(Actions()[1].effect, HasSubstr("1 of 3 processes (18) is still running after"));
  Settle();
  EXPECT_EQ(log_.Records("pitwall.telemetry", 0).size(), 1U) << "only the notice, no end";
}

TEST_F(ExecutorTest, JobWithIncompleteProcessList_IsRefused) {
  processes_.Run(17, 170);
  Run(Options());
  IssueEvent found = Issue("j", 17);
  found.reference.uid += "+more";
  found.id = MakeEventId(found);
  Publish(found);
  Pass([&] { return Actions().size() == 1; });
  EXPECT_THAT(processes_.signals(), IsEmpty());
  EXPECT_THAT(Actions()[0].why, HasSubstr("lists only some of the job's processes"));
}

// Fake processes. Each process has a state and a scripted reply to SIGTERM.
class SomeProcesses final : public ProcessControl {
 public:
  struct One {
    ProcessState state = ProcessState::kRunning;
    Status answer;
  };
  StatusOr<ProcessState> Look(const ProcessIdentity& process) override {
    return all[process.pid].state;
  }
  Status Terminate(const ProcessIdentity& process) override {
    signaled.push_back(process.pid);
    return all[process.pid].answer;
  }

  std::map<int64_t, One> all;
  std::vector<int64_t> signaled;
};

ActionEvent StopOfThree() {
  ActionEvent stop;
  stop.job = "j";
  stop.owner = "uid:1000";
  stop.target.platform = "process";
  stop.target.uid = "17@n1/170+18/180+19/190";
  return stop;
}

TEST(ProcessTarget, ProcessOfAnotherOwner_IsRefused) {
  SomeProcesses processes;
  processes.all[18].state = ProcessState::kOtherOwner;
  ProcessTarget target(&processes, "n1");
  const StopCheck check = target.Check(StopOfThree());
  EXPECT_TRUE(check.other_owner);
  EXPECT_THAT(check.refusal, HasSubstr("process 18 does not belong to uid:1000"));
}

TEST(ProcessTarget, EndedProcess_DoesNotPreventStop) {
  SomeProcesses processes;
  processes.all[17] = {ProcessState::kGone, NotFound("gone")};
  ProcessTarget target(&processes, "n1");
  EXPECT_EQ(target.Check(StopOfThree()).refusal, "");
  EXPECT_EQ(*target.Stop(StopOfThree()), "SIGTERM sent to 2 of 3 processes");
}

TEST(ProcessTarget, ProcessNotSignaled_IsNamed) {
  SomeProcesses processes;
  processes.all[17].answer = absl::PermissionDeniedError("process 17 is not ours");
  ProcessTarget target(&processes, "n1");
  EXPECT_EQ(*target.Stop(StopOfThree()),
            "SIGTERM sent to 2 of 3 processes (process 17 is not ours)");
  EXPECT_THAT(processes.signaled, ElementsAre(17, 18, 19));
  for (const int64_t pid : {18, 19}) processes.all[pid].answer = NotFound("gone");
  EXPECT_TRUE(absl::IsPermissionDenied(target.Stop(StopOfThree()).status()));
}

TEST(ProcessTarget, RunningProcess_IsNotReportedAsStopped) {
  SomeProcesses processes;
  for (const int64_t pid : {17, 18, 19}) processes.all[pid].state = ProcessState::kGone;
  ProcessTarget target(&processes, "n1");
  EXPECT_TRUE(target.Effect(StopOfThree())->stopped);
  processes.all[18].state = ProcessState::kRunning;
  EXPECT_FALSE(target.Effect(StopOfThree())->stopped);
  EXPECT_EQ(target.Effect(StopOfThree())->text, "1 of 3 processes (18) is still running");
}

}  // namespace
}  // namespace pitwall::executor
