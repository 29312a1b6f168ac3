// Tests for full disks and failed flushes. No commit may be partly visible, and appends must
// succeed after the disk recovers.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class DiskFullTest : public EmbeddedLogTest {
 protected:
  void MakeTopics() {
    Topic("a");
    Topic("b", 2);
  }
  static Commit Numbered(int64_t n) {
    Commit commit;
    commit.group = "g";
    commit.input = {"a", 0};
    commit.next_offset = n;
    commit.outputs = {Out("a", Cat(n, std::string(30, 'x'))), Out("b", Cat(n), "k", 0),
                      Out("b", Cat(n), "k", 1)};
    return commit;
  }
  void ExpectCommits(const std::vector<int64_t>& numbers) {
    std::vector<std::string> a;
    std::vector<std::string> b;
    for (const int64_t n : numbers) {
      a.push_back(Cat(n, std::string(30, 'x')));
      b.push_back(Cat(n));
    }
    ASSERT_EQ(Values("a"), a);
    ASSERT_EQ(Values("b", 0), b);
    ASSERT_EQ(Values("b", 1), b);
    const auto position = log_->Committed("g", {"a", 0});
    ASSERT_EQ(position->has_value() ? (*position)->offset : -1,
              numbers.empty() ? -1 : numbers.back());
  }
};

TEST_F(DiskFullTest, FullAtAnyByte_CommitIsNotVisible) {
  for (const int64_t segment_bytes : {int64_t{64} << 20, int64_t{1}}) {
    options_.dir = Dir(Cat("sweep", segment_bytes));
    options_.segment_bytes = segment_bytes;
    MustOpen();
    MakeTopics();
    auto committer = log_->OpenCommitter("c");
    std::vector<int64_t> there;
    int64_t n = 0;
    bool fits = false;
    for (int64_t space = 0; !fits && space < 2000; ++space, ++n) {
      options_.faults->SetSpace(space);
      const Status applied = (*committer)->Apply(Numbered(n));
      options_.faults->SetSpace(-1);
      fits = applied.ok();
      if (fits) {
        there.push_back(n);
      } else {
        ASSERT_EQ(applied.code(), absl::StatusCode::kResourceExhausted) << applied;
      }
      ExpectCommits(there);
      // As soon as space is available, commits succeed again, even after a restart.
      if (space % 7 == 0) {
        const Status again = (*committer)->Apply(Numbered(++n));
        ASSERT_TRUE(again.ok()) << again;
        there.push_back(n);
        ExpectCommits(there);
      }
      if (space % 50 == 0) {
        MustOpen();
        ExpectCommits(there);
        committer = log_->OpenCommitter("c");
      }
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(fits);
  }
}

TEST_F(DiskFullTest, TruncateFails_TailStaysInvisible) {
  MustOpen();
  MakeTopics();
  auto committer = log_->OpenCommitter("c");
  ASSERT_TRUE((*committer)->Apply(Numbered(0)).ok());
  std::vector<int64_t> there{0};
  for (int64_t space = 1; space < 700; space += 3) {
    options_.faults->SetSpace(space);
    options_.faults->FailTruncates(true);
    const Status applied = (*committer)->Apply(Numbered(space));
    if (applied.ok()) there.push_back(space);
    ExpectCommits(there);
    options_.faults->SetSpace(-1);
    options_.faults->FailTruncates(false);
    if (space % 5 == 0) {
      const Status again = (*committer)->Apply(Numbered(1000 + space));
      ASSERT_TRUE(again.ok()) << again;
      there.push_back(1000 + space);
      ExpectCommits(there);
      CopyDir(options_.dir, Dir("copy"));
      EmbeddedLogOptions copy = options_;
      copy.dir = Dir("copy");
      auto other = OpenEmbeddedLog(copy, &clock_);
      ASSERT_TRUE(other.ok()) << other.status();
      EXPECT_EQ(ReadAll(other->get(), {"a", 0}).records.size(), there.size());
    }
    if (HasFatalFailure()) return;
  }
}

TEST_F(DiskFullTest, LargeAppendFails_SmallAppendSucceeds) {
  options_.compress = false;
  MustOpen();
  MakeTopics();
  Append({Out("a", "small")});
  options_.faults->SetSpace(5000);
  EXPECT_EQ(TryAppend({Out("a", std::string(100'000, 'x'))}).code(),
            absl::StatusCode::kResourceExhausted);
  options_.faults->SetSpace(5000);  // the rollback of the large record has freed its space
  Append({Out("a", "small too")});
  EXPECT_EQ(Values("a"), (std::vector<std::string>{"small", "small too"}));
}

TEST_F(DiskFullTest, FailedTopicCreationLeavesNoTopic) {
  MustOpen();
  options_.faults->SetSpace(10);
  EXPECT_EQ(log_->EnsureTopic("t", {}).code(), absl::StatusCode::kResourceExhausted);
  options_.faults->SetSpace(-1);
  EXPECT_EQ(log_->Partitions("t").status().code(), absl::StatusCode::kNotFound);
  Topic("t", 2);
  MustOpen();
  EXPECT_EQ(*log_->Partitions("t"), 2);
}

TEST_F(DiskFullTest, FailedCheckpointKeepsOldJournal) {
  options_.checkpoint_bytes = 1500;
  MustOpen();
  MakeTopics();
  auto committer = log_->OpenCommitter("c");
  std::vector<int64_t> there;
  int64_t failed = 0;
  for (int64_t n = 0; n < 200; ++n) {
    // There is enough space for the commit but not for the checkpoint after it.
    options_.faults->SetSpace(700);
    const Status applied = (*committer)->Apply(Numbered(n));
    if (applied.ok()) there.push_back(n);
    failed += applied.ok() ? 0 : 1;
  }
  options_.faults->SetSpace(-1);
  EXPECT_EQ(failed, 0);
  ExpectCommits(there);
  MustOpen();
  ExpectCommits(there);
}

TEST_F(DiskFullTest, RetentionFreesSpaceOnFullDisk) {
  options_.background = true;
  options_.segment_bytes = 1;
  options_.compress = false;
  MustOpen();
  Topic("a", 1, false, 10'000);
  for (int i = 0; i < 5; ++i) Append({Out("a", Cat(i))});
  clock_.AwaitWaiters(1);
  options_.faults->SetSpace(5000);
  EXPECT_EQ(TryAppend({Out("a", std::string(10'000, 'x'))}).code(),
            absl::StatusCode::kResourceExhausted);
  // Remaining space in the journal's last block, enough for one mark.
  options_.faults->SetSpace(100);
  clock_.Advance(11 * kNanosPerSecond);
  EXPECT_EQ(Segments("a").size(), 5U);
  clock_.Advance(50 * kNanosPerSecond);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(Segments("a").size(), 0U);
  options_.faults->SetSpace(-1);  // retention has freed space
  Append({Out("a", "again")});
  EXPECT_EQ(Values("a"), std::vector<std::string>{"again"});
}

// A failed flush may have dropped dirty pages. Unacknowledged writes are rolled back, and
// acknowledged writes are repeated, so the log resumes as soon as flushes succeed.
TEST_F(DiskFullTest, CommitsSucceedAfterFailedFlush) {
  options_.fsync = FsyncPolicy::kAlways;
  MustOpen();
  MakeTopics();
  auto committer = log_->OpenCommitter("c");
  ASSERT_TRUE((*committer)->Apply(Numbered(0)).ok());
  options_.faults->FailSyncs(true);
  for (int64_t n = 1; n < 4; ++n) {
    const Status applied = (*committer)->Apply(Numbered(n));
    EXPECT_EQ(applied.code(), absl::StatusCode::kUnavailable) << applied;
    ExpectCommits({0});
  }
  EXPECT_GT(log_->Stats().failed_flushes, 0);
  options_.faults->FailSyncs(false);
  ASSERT_TRUE((*committer)->Apply(Numbered(4)).ok());
  ExpectCommits({0, 4});
  // Only the journal fails to flush.
  options_.faults->OnlyBelow("/commits/");
  options_.faults->FailSyncs(true);
  EXPECT_EQ((*committer)->Apply(Numbered(5)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*committer)->Apply(Numbered(6)).code(), absl::StatusCode::kUnavailable);
  options_.faults->FailSyncs(false);
  ASSERT_TRUE((*committer)->Apply(Numbered(7)).ok());
  ExpectCommits({0, 4, 7});
  MustOpen();
  ExpectCommits({0, 4, 7});
  committer = log_->OpenCommitter("c");
  ASSERT_TRUE((*committer)->Apply(Numbered(8)).ok());
  ExpectCommits({0, 4, 7, 8});
}

// When the disk of one partition fails, the other partitions keep working, and the error names the
// failed partition.
TEST_F(DiskFullTest, FailedPartitionDoesNotAffectOthers) {
  for (const FsyncPolicy policy : {FsyncPolicy::kAlways, FsyncPolicy::kInterval}) {
    options_.dir = Dir(Cat("one", static_cast<int>(policy)));
    options_.fsync = policy;
    MustOpen();
    MakeTopics();
    options_.faults->OnlyBelow("/topics/b/1/");
    const auto both = [&](std::string_view value) {
      return TryAppend({Out("b", value, "k", 0), Out("b", value, "k", 1)});
    };
    ASSERT_TRUE(both("0").ok());
    ASSERT_TRUE(log_->Sync().ok());
    // The disk is full.
    options_.faults->SetSpace(0);
    const Status full = both("lost");
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
    EXPECT_NE(full.message().find("partition b/1"), absl::string_view::npos) << full;
    Append({Out("b", "1", "k", 0)});
    options_.faults->SetSpace(-1);
    ASSERT_TRUE(both("2").ok());
    // Flushes fail.
    options_.faults->FailSyncs(true);
    const Status first = both("3");
    const Status flushed = log_->Sync();
    const Status second = both("lost too");
    EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable) << second;
    EXPECT_NE(second.message().find("b/1"), absl::string_view::npos) << second;
    if (policy == FsyncPolicy::kInterval) {
      EXPECT_TRUE(first.ok()) << first;
      EXPECT_EQ(flushed.code(), absl::StatusCode::kUnavailable) << flushed;
      EXPECT_EQ(log_->Stats().suspended_partitions, 1);
    } else {
      EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable) << first;
    }
    Append({Out("b", "4", "k", 0)});
    options_.faults->FailSyncs(false);
    EXPECT_TRUE(log_->Sync().ok());
    EXPECT_EQ(log_->Stats().suspended_partitions, 0);
    ASSERT_TRUE(both("5").ok());
    std::vector<std::string> expected[2] = {{"0", "1", "2", "4", "5"}, {"0", "2", "5"}};
    if (policy == FsyncPolicy::kInterval) {
      expected[0] = {"0", "1", "2", "3", "4", "5"};
      expected[1] = {"0", "2", "3", "5"};
    }
    for (int reopened = 0; reopened < 2; ++reopened) {
      EXPECT_EQ(Values("b", 0), expected[0]);
      EXPECT_EQ(Values("b", 1), expected[1]);
      MustOpen();
      EXPECT_TRUE(log_->Damage().empty());
    }
  }
}

// The process temporarily runs out of file descriptors. All operations on the log fail during that
// time and succeed afterwards.
TEST_F(DiskFullTest, RecoversAfterDescriptorsRunOut) {
  for (const FsyncPolicy policy : {FsyncPolicy::kAlways, FsyncPolicy::kInterval}) {
    options_.dir = Dir(Cat("descriptors", static_cast<int>(policy)));
    options_.fsync = policy;
    options_.segment_bytes = 1;  // each commit needs a new file in every partition
    MustOpen();
    MakeTopics();
    auto committer = log_->OpenCommitter("c");
    ASSERT_TRUE((*committer)->Apply(Numbered(0)).ok());
    std::vector<int64_t> there{0};
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    // Each iteration allows one more descriptor, so every call that opens a file fails once.
    for (rlim_t spare = 0; spare < 16; ++spare) {
      const int next = ::dup(0);
      ASSERT_GE(next, 0);
      ::close(next);
      rlimit limit = before;
      limit.rlim_cur = static_cast<rlim_t>(next) + spare;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
      const auto n = static_cast<int64_t>(spare) * 10 + 1;
      const Status applied = (*committer)->Apply(Numbered(n));
      const Status synced = log_->Sync();
      const Status maintained = log_->Maintain();
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
      if (applied.ok()) there.push_back(n);
      for (const Status& status : {applied, synced, maintained}) {
        EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted ||
                    status.code() == absl::StatusCode::kUnavailable)
            << status;
      }
      ExpectCommits(there);
      const Status again = (*committer)->Apply(Numbered(n + 1));
      ASSERT_TRUE(again.ok()) << again;
      there.push_back(n + 1);
      ASSERT_TRUE(log_->Sync().ok());
      ExpectCommits(there);
    }
    EXPECT_LT(there.size(), 33U) << "no operation ever failed";
    MustOpen();
    ExpectCommits(there);
  }
}

// The kernel's file size limit has the same effect. The test sets the limit in a child process.
TEST_F(DiskFullTest, ProcessFileSizeLimitIsReported) {
  MustOpen();
  MakeTopics();
  log_.reset();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{6000, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    if (!Open().ok()) _exit(3);
    auto committer = log_->OpenCommitter("c");
    int64_t n = 0;
    Status applied = OkStatus();
    while (applied.ok() && n < 1000) applied = (*committer)->Apply(Numbered(n++));
    if (applied.code() != absl::StatusCode::kResourceExhausted) _exit(4);
    limit.rlim_cur = RLIM_INFINITY;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(5);
    if (!(*committer)->Apply(Numbered(n)).ok()) _exit(6);
    // All commits except the failed one are visible.
    if (ReadAll("a").records.size() != static_cast<size_t>(n)) _exit(7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  MustOpen();
  EXPECT_EQ(ReadAll("a").records.size(), ReadAll("b", 1).records.size());
}

}  // namespace
}  // namespace pitwall::log
