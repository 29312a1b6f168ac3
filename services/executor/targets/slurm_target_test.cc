#include "services/executor/targets/slurm_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The replies were recorded from Slurm 22.05, except those that are hard to reproduce.
class FakeSlurm final : public CommandRunner {
 public:
  StatusOr<CommandResult> Run(const std::vector<std::string>& argv, int64_t) override {
    commands.push_back(Join(argv, " "));
    if (answers.empty()) return Internal("no answer left");
    StatusOr<CommandResult> answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }
  void Shows(std::string_view state, std::string_view user = "alice(1000)",
             std::string_view name = "train.sh") {
    answers.push_back(CommandResult{
        0,
        Cat("JobId=17 JobName=", name, " UserId=", user,
            " GroupId=alice(1000) MCS_label=N/A JobState=", state, " Reason=None ExitCode=0:0\n"),
        ""});
  }
  void Fails(int code, std::string_view errors) {
    answers.push_back(CommandResult{code, "", std::string(errors)});
  }

  std::deque<StatusOr<CommandResult>> answers;
  std::vector<std::string> commands;
};

class SlurmTargetTest : public ::testing::Test {
 protected:
  static ActionEvent Decision(std::string uid = "17", std::string owner = "uid:1000") {
    ActionEvent decision;
    decision.job = "c1-17";
    decision.owner = std::move(owner);
    decision.target.platform = "slurm";
    decision.target.cluster = "c1";
    decision.target.uid = std::move(uid);
    return decision;
  }
  FakeSlurm slurm_;
  SlurmTarget target_{&slurm_, {.cluster = "c1", .scancel = "scancel", .scontrol = "scontrol"}};
};

TEST_F(SlurmTargetTest, ClaimsJobsOfItsCluster) {
  JobReference reference = Decision().target;
  EXPECT_EQ(target_.Claims(reference), StopTarget::Claim::kMine);
  reference.cluster = "";
  EXPECT_EQ(target_.Claims(reference), StopTarget::Claim::kMine);
  reference.cluster = "c2";
  EXPECT_EQ(target_.Claims(reference), StopTarget::Claim::kElsewhere);
  reference.platform = "process";
  EXPECT_EQ(target_.Claims(reference), StopTarget::Claim::kNo);
}

TEST_F(SlurmTargetTest, StopsJobOfMatchingOwner) {
  slurm_.Shows("RUNNING");
  EXPECT_EQ(target_.Check(Decision()).found,
            "Slurm job 17 of cluster c1 is RUNNING as uid:1000, the owner of the job");
  slurm_.Shows("RUNNING");
  slurm_.Fails(0, "");
  const auto sent = target_.Stop(Decision());
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_THAT(slurm_.commands,
              ElementsAre("scontrol --oneliner show job 17", "scontrol --oneliner show job 17",
                          "scancel --user=1000 17"));
  slurm_.Shows("COMPLETING");
  EXPECT_FALSE(target_.Effect(Decision())->stopped);
  slurm_.Shows("CANCELLED");
  EXPECT_TRUE(target_.Effect(Decision())->stopped);
  slurm_.Fails(1, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_TRUE(target_.Effect(Decision())->stopped) << "purged after MinJobAge";
}

TEST_F(SlurmTargetTest, RefusesJobsThatMustNotBeStopped) {
  slurm_.Shows("RUNNING", "bob(1001)");
  EXPECT_TRUE(target_.Check(Decision()).other_owner);
  slurm_.Shows("RUNNING", "alice(1000)", "x UserId=alice(1000)");
  EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr("UserId more than once"))
      << "the name of a job imitates its user";
  for (const char* state : {"COMPLETING", "CANCELLED", "COMPLETED", "TIMEOUT"}) {
    slurm_.Shows(state);
    EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr(Cat("has finished: ", state)));
  }
  slurm_.Fails(1, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr("not found"));
  slurm_.Fails(1, "slurm_load_jobs error: Unable to contact slurm controller\n");
  EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr("Unable to contact"));
  slurm_.answers.push_back(CommandResult{0, "garbage", ""});
  EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr("does not show JobId"));
  slurm_.answers.push_back(absl::DeadlineExceededError("scontrol did not finish within 10000 ms"));
  EXPECT_THAT(target_.Check(Decision()).refusal, HasSubstr("did not finish within"));
  const size_t asked = slurm_.commands.size();
  for (const char* uid : {"", "0", "--all", "17 18", "17;reboot", "99999999999"})
    EXPECT_THAT(target_.Check(Decision(uid)).refusal, HasSubstr("must be a Slurm job number"));
  for (const char* owner : {"", "pod:x"})
    EXPECT_TRUE(target_.Check(Decision("17", owner)).other_owner);
  EXPECT_EQ(slurm_.commands.size(), asked) << "no request to Slurm for any of them";
}

TEST_F(SlurmTargetTest, FailedStop_ReportsReason) {
  const auto stop = [&](int code, std::string_view errors) {
    slurm_.Shows("RUNNING");
    slurm_.Fails(code, errors);
    return target_.Stop(Decision());
  };
  const auto denied =
      stop(0, "scancel: error: Kill job error on job id 17: Access/permission denied\n");
  EXPECT_EQ(denied.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(denied.status().message()),
              StartsWith("scancel: Kill job error on job id 17: Access/permission denied; run"));
  EXPECT_TRUE(stop(1,
                   "scancel: error: Kill job error on job id 17: Job/step already completing or "
                   "completed\n")
                  .ok());
  EXPECT_EQ(stop(1, "scancel: error: Unable to contact slurm controller\n").status().code(),
            absl::StatusCode::kUnavailable);
  // The job's user changes after the decision.
  slurm_.Shows("RUNNING", "bob(1001)");
  EXPECT_EQ(target_.Stop(Decision()).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(Command, LimitsTimeAndOutput) {
  fakes::FakeClock clock;
  const auto runner = MakeCommandRunner(&clock);
  const auto run = [&](std::string script, int64_t timeout_ns = 60 * kNanosPerSecond) {
    return runner->Run({"sh", "-c", std::move(script)}, timeout_ns);
  };
  const auto both = run("printf out; printf err >&2; exit 3");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->exit_code, 3);
  EXPECT_EQ(both->out, "out");
  EXPECT_EQ(both->errors, "err");
  EXPECT_EQ(run("kill -9 $$")->exit_code, 137);
  EXPECT_EQ(run("head -c 1000000 /dev/zero")->out.size(), kMaxCommandOutput);
  // Run does not wait for a grandchild that keeps the output pipe open.
  EXPECT_EQ(run("sleep 2 & echo x")->out, "x\n");
  EXPECT_EQ(run("sleep 1000", 0).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runner->Run({"no-such-program-17"}, 1).status().code(), absl::StatusCode::kNotFound);
  runner->Cancel();
  EXPECT_EQ(run("true").status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace pitwall::executor
