#include "services/executor/targets/process_control.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/base/text/strings.h"
#include "tests/fakes/no_descriptors.h"

namespace pitwall::executor {
namespace {

// Child process that waits for signals.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ProcessIdentity Identity() const { return {pid_, "n", *ProcessStartTicks(pid_), ""}; }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessUid, RoundTrips) {
  const StatusOr<ProcessIdentity> identity = ParseProcessUid("4711@node-1.example/123456");
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->pid, 4711);
  EXPECT_EQ(identity->node, "node-1.example");
  EXPECT_EQ(identity->start_ticks, 123456U);
  EXPECT_EQ(MakeProcessUid(*identity), "4711@node-1.example/123456");
  for (const char* bad :
       {"", "4711", "4711@n", "4711/n@1", "@n/1", "x@n/1", "0@n/1", "-1@n/1", "1@n/", "1@n/-1",
        "1@/1", "99999999@n/1", "1@n/1x", "18446744073709551617@n/1"}) {
    EXPECT_FALSE(ParseProcessUid(bad).ok()) << bad;
  }
}

TEST(ProcessUid, ParsesSeveralProcesses) {
  const auto one = ParseProcessUids("17@a+b/170");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().node, "a+b");
  const auto three = ParseProcessUids("17@n/170+18/180+19/190");
  ASSERT_TRUE(three.ok()) << three.status();
  ASSERT_EQ(three->size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*three)[i].pid, 17 + i);
    EXPECT_EQ((*three)[i].node, "n");
    EXPECT_EQ((*three)[i].start_ticks, 170U + 10U * i);
  }
  for (const char* bad : {"", "17@n/170+more", "17@n/170+18", "17@n/170+0/180", "17@n/170+18/-1",
                          "+18/180", "17@n/170+99999999/1"}) {
    EXPECT_FALSE(ParseProcessUids(bad).ok()) << bad;
  }
}

TEST(LinuxProcessControl, TerminatesOnlyMatchingProcess) {
  const auto control = MakeLinuxProcessControl();
  Child child;
  ASSERT_GT(child.pid(), 0);
  const ProcessIdentity identity = child.Identity();
  EXPECT_EQ(*control->Look(identity), ProcessState::kRunning);
  ASSERT_TRUE(control->Terminate(identity).ok());
  // The child is a zombie until it is reaped. A zombie counts as exited.
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(*control->Look(identity), ProcessState::kGone);
  const int status = child.Wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(*control->Look(identity), ProcessState::kGone);
  EXPECT_EQ(control->Terminate(identity).code(), absl::StatusCode::kNotFound);
}

TEST(LinuxProcessControl, NeverSignalsProcessWithReusedPid) {
  const auto control = MakeLinuxProcessControl();
  Child child;
  ProcessIdentity other = child.Identity();
  ++other.start_ticks;  // simulates a reused pid
  EXPECT_EQ(*control->Look(other), ProcessState::kReplaced);
  EXPECT_EQ(control->Terminate(other).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*control->Look(child.Identity()), ProcessState::kRunning);
  EXPECT_EQ(waitpid(child.pid(), nullptr, WNOHANG), 0);
}

TEST(LinuxProcessControl, SignalsOnlyProcessesOfOwner) {
  const auto control = MakeLinuxProcessControl();
  Child child;
  ProcessIdentity identity = child.Identity();
  identity.owner = "uid:" + std::to_string(geteuid() + 1);
  EXPECT_EQ(*control->Look(identity), ProcessState::kOtherOwner);
  EXPECT_EQ(control->Terminate(identity).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(waitpid(child.pid(), nullptr, WNOHANG), 0);
  identity.owner = "uid:" + std::to_string(geteuid());
  EXPECT_EQ(*control->Look(identity), ProcessState::kRunning);
  EXPECT_TRUE(control->Terminate(identity).ok());
  EXPECT_EQ(WTERMSIG(child.Wait()), SIGTERM);
}

TEST(LinuxProcessControl, NeverSignalsInitOrItself) {
  const auto control = MakeLinuxProcessControl();
  EXPECT_EQ(control->Terminate({1, "n", *ProcessStartTicks(1), ""}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(control->Terminate({getpid(), "n", *ProcessStartTicks(getpid()), ""}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(control->Terminate({-1, "n", 0, ""}).ok());
}

// Issue 26, F3: a process with an unreadable state counts neither as exited nor as owned by someone
// else.
TEST(LinuxProcessControl, NoFileDescriptors_StateIsUnavailable) {
  const auto control = MakeLinuxProcessControl();
  Child child;
  ASSERT_GT(child.pid(), 0);
  ProcessIdentity identity = child.Identity();
  identity.owner = Cat("uid:", geteuid());
  fakes::NoDescriptors none;
  EXPECT_TRUE(absl::IsUnavailable(control->Look(identity).status()))
      << control->Look(identity).status();
  EXPECT_FALSE(absl::IsNotFound(control->Terminate(identity)));
  none.Free(1);
  EXPECT_EQ(*control->Look(identity), ProcessState::kRunning);
}

}  // namespace
}  // namespace pitwall::executor
