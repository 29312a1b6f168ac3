// Tests whether a rank's end is attributed to the out-of-memory killer, based on its cgroup's
// counter (issue 10, A6).
#include "services/collector/processes/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tuple>
#include <vector>

#include "services/base/text/strings.h"
#include "services/collector/files/descriptor_reserve.h"
#include "services/collector/files/testing/temporary_root.h"
#include "tests/fakes/no_descriptors.h"

namespace pitwall::collector {
namespace {

constexpr int kRank = 4242;

// A rank in a separate cgroup. The parameter is the cgroup version: 1, 2, or 3 (version 2 with
// local counters).
class OomKills : public ::testing::TestWithParam<int> {
 protected:
  OomKills() {
    root_.Write(
        Cat("proc/", kRank, "/cgroup"),
        GetParam() == 1 ? "5:memory:/job/rank\n1:name=systemd:/x\n0::/\n" : "0::/job/rank\n");
    Count(3, 3);
    State('R', 0);
    Pending(0);
    rank_ = watch_.Begin({.pid = kRank, .uid = 0, .pod = ""});
    Look();
  }
  // Sets the number of kills in the rank's group, and the number that includes child groups.
  void Count(int own, int with_below) {
    const std::string lines = "oom_kill_disable 0\nunder_oom 0\nlow 0\nmax 9\noom 7\n";
    if (GetParam() == 1) {
      root_.Write("sys/fs/cgroup/memory/job/rank/memory.oom_control",
                  Cat(lines, "oom_kill ", own, "\n"));
      return;
    }
    root_.Write("sys/fs/cgroup/job/rank/memory.events", Cat(lines, "oom_kill ", with_below, "\n"));
    if (GetParam() == 3)
      root_.Write("sys/fs/cgroup/job/rank/memory.events.local", Cat(lines, "oom_kill ", own, "\n"));
  }
  void State(char state, int status) {
    root_.Write(
        Cat("proc/", kRank, "/stat"),
        Cat(kRank, " (rank) ", std::string(1, state), " 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777",
            " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ", status, "\n"));
  }
  void Gone() { root_.Remove(Cat("proc/", kRank, "/stat")); }
  void Pending(int signals) {
    root_.Write(Cat("proc/", kRank, "/status"),
                Cat("Name:\trank\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000", signals,
                    "\nSigBlk:\t0000000000000000\n"));
  }
  void Look() { watch_.ReadOomCounts({&rank_}); }

  TestRoot root_;
  ProcessWatch watch_{root_.path()};
  WatchedProcess rank_;
};

TEST_P(OomKills, KilledRank_IsReportedAsOomKilled) {
  Count(4, 4);
  State('Z', 9);
  const auto end = watch_.EndOf(rank_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->signal, 9);
  EXPECT_TRUE(end->oom_killed);
}

// The rank's parent has already reaped it.
TEST_P(OomKills, KilledRankWithoutStatus_IsReportedAsOomKilled) {
  Count(4, 4);
  Gone();
  const auto end = watch_.EndOf(rank_);
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->signal.has_value());
  EXPECT_TRUE(end->oom_killed);
}

// A large process takes some time to exit.
TEST_P(OomKills, SlowKill_IsReportedAsOomKilled) {
  Count(4, 4);
  Pending(100);
  for (int look = 0; look < 40; ++look) Look();
  Gone();
  EXPECT_TRUE(watch_.EndOf(rank_)->oom_killed);
}

TEST_P(OomKills, SurvivedKill_IsNotAttributedToRank) {
  Count(4, 4);
  Look();  // the rank is still running
  Gone();
  const auto end = watch_.EndOf(rank_);
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->oom_killed);
}

TEST_P(OomKills, RankWithExitCode_IsNotOomKilled) {
  Count(4, 4);
  State('Z', 3 << 8);
  const auto end = watch_.EndOf(rank_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_FALSE(end->oom_killed);
}

TEST_P(OomKills, OtherSignal_IsNotOomKilled) {
  Count(4, 4);
  State('Z', 11);
  EXPECT_FALSE(watch_.EndOf(rank_)->oom_killed);
}

TEST_P(OomKills, MissingCount_IsNotOomKilled) {
  State('Z', 9);
  EXPECT_FALSE(watch_.EndOf(rank_)->oom_killed);
}

TEST_P(OomKills, KillInChildGroup_IsNotAttributedToRank) {
  if (GetParam() != 3) GTEST_SKIP() << "these counters include child groups";
  Count(3, 4);
  Gone();
  EXPECT_FALSE(watch_.EndOf(rank_)->oom_killed);
}

INSTANTIATE_TEST_SUITE_P(Cgroups, OomKills, ::testing::Values(1, 2, 3), [](const auto& test) {
  return test.param == 1   ? std::string("Version1")
         : test.param == 2 ? std::string("Version2")
                           : std::string("Version2Local");
});

// Tests the ends of processes that their parents reap immediately.
TEST(ProcessExits, StatusComesFromKernel) {
  for (const auto& [ends, signal, code] :
       std::vector<std::tuple<int, std::optional<int32_t>, std::optional<int32_t>>>{
           {-SIGKILL, SIGKILL, std::nullopt},
           {-SIGTERM, SIGTERM, std::nullopt},
           {3, std::nullopt, 3},
           {0, std::nullopt, 0}}) {
    SCOPED_TRACE(ends);
    int wait[2];
    ASSERT_EQ(pipe(wait), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(wait[1]);
      char byte;
      (void)!read(wait[0], &byte, 1);
      if (ends < 0) kill(getpid(), -ends);
      _exit(ends);
    }
    close(wait[0]);
    ProcessWatch watch("/");
    const WatchedProcess begun = watch.Begin({.pid = child, .uid = 0, .pod = ""});
    WatchedProcess followed = begun;
    followed.exit = nullptr;
    watch.Follow(&followed);
    EXPECT_FALSE(watch.EndOf(begun).has_value());
    close(wait[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (begun.exit == nullptr || !begun.exit->Status().has_value())
      GTEST_SKIP() << "needs Linux 6.15";
    for (const WatchedProcess& watched : {begun, followed}) {
      const auto end = watch.EndOf(watched);
      ASSERT_TRUE(end.has_value());
      EXPECT_EQ(end->signal, signal);
      EXPECT_EQ(end->exit_code, code);
    }
    watch.Follow(&followed);
    EXPECT_EQ(followed.exit, nullptr);
  }
}

// The object type check in UBSan opens a pipe and reports an error if no descriptors are available.
#ifndef PITWALL_SANITIZED
// A failed read must not be interpreted as the end of a process (issue 26, F3).
class WithoutDescriptors : public ::testing::Test {
 protected:
  WithoutDescriptors() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~WithoutDescriptors() override { End(); }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Uses up all descriptors, including those in the reserve.
  static void EmptyReserve() {
    while (DescriptorReserve::OfProcess().Lend()) {
    }
  }
  Peer Rank() const { return {.pid = pid_, .uid = 0, .pod = ""}; }

  pid_t pid_;
  ProcessWatch watch_{"/"};
};

TEST_F(WithoutDescriptors, LiveRank_DoesNotEnd) {
  WatchedProcess rank = watch_.Begin(Rank());
  WatchedProcess without_pidfd = rank;
  without_pidfd.exit = nullptr;
  const fakes::NoDescriptors none;
  EXPECT_TRUE(watch_.Runs(rank.self));
  EXPECT_FALSE(watch_.EndOf(rank).has_value());
  EmptyReserve();
  const fakes::NoDescriptors still_none;
  EXPECT_TRUE(watch_.Runs(rank.self));
  EXPECT_FALSE(watch_.EndOf(rank).has_value());
  EXPECT_FALSE(watch_.EndOf(without_pidfd).has_value());
}

TEST_F(WithoutDescriptors, DeadRank_IsDetectedByOpenPidfd) {
  const WatchedProcess rank = watch_.Begin(Rank());
  ASSERT_NE(rank.exit, nullptr);
  const fakes::NoDescriptors none;
  EmptyReserve();
  const fakes::NoDescriptors still_none;
  End();
  EXPECT_TRUE(watch_.EndOf(rank).has_value());
}

TEST_F(WithoutDescriptors, NewRank_IsReadWithReservedDescriptors) {
  DescriptorReserve::OfProcess().TakeBack();
  const fakes::NoDescriptors none;
  EXPECT_EQ(watch_.Begin(Rank()).self.pid, pid_);
}

TEST_F(WithoutDescriptors, UnreadableKillCount_IsNotOomKilled) {
  TestRoot root;
  root.Write(Cat("proc/", kRank, "/cgroup"), "0::/job\n");
  root.Write("sys/fs/cgroup/job/memory.events", "oom_kill 5\n");
  root.Write(Cat("proc/", kRank, "/stat"),
             Cat(kRank, " (rank) R 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777 1\n"));
  ProcessWatch watch(root.path());
  const WatchedProcess rank = watch.Begin({.pid = kRank, .uid = 0, .pod = ""});
  {
    const fakes::NoDescriptors none;
    EmptyReserve();
    const fakes::NoDescriptors still_none;
    watch.ReadOomCounts({&rank});
  }
  root.Remove(Cat("proc/", kRank, "/stat"));
  const auto end = watch.EndOf(rank);
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->oom_killed);  // the five kills happened before the watch
}
#endif  // PITWALL_SANITIZED

}  // namespace
}  // namespace pitwall::collector
