// Tests for kill -9, torn tails, and power loss. A commit must survive completely or not at all.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class CrashTest : public EmbeddedLogTest {
 protected:
  // Returns commit n, which writes record n to both topics and sets the position to n + 1.
  static Commit Numbered(int64_t n) {
    Commit commit;
    commit.group = "g";
    commit.input = {"a", 0};
    commit.next_offset = n + 1;
    commit.metadata = Cat("meta", n);
    commit.outputs = {Out("a", Cat(n, " ", std::string(static_cast<size_t>(n % 40), 'x'))),
                      Out("b", Cat(n), "key", static_cast<int32_t>(n % 2))};
    return commit;
  }
  // Returns the number of commits. Fails the test if a commit is only partly visible.
  int64_t CheckCommits() {
    const auto position = log_->Committed("g", {"a", 0});
    EXPECT_TRUE(position.ok());
    const int64_t count = position->has_value() ? (*position)->offset : 0;
    if (count > 0) {
      EXPECT_EQ((*position)->metadata, Cat("meta", count - 1));
    }
    std::vector<std::string> a;
    std::vector<std::string> b[2];
    for (int64_t n = 0; n < count; ++n) {
      a.push_back(Numbered(n).outputs[0].value);
      b[n % 2].push_back(Cat(n));
    }
    EXPECT_EQ(Values("a"), a);
    EXPECT_EQ(Values("b", 0), b[0]);
    EXPECT_EQ(Values("b", 1), b[1]);
    return count;
  }
  void MakeTopics() {
    Topic("a");
    Topic("b", 2);
  }
  void Apply(int64_t n) {
    auto committer = log_->OpenCommitter("c");
    ASSERT_TRUE(committer.ok()) << committer.status();
    const Status applied = (*committer)->Apply(Numbered(n));
    ASSERT_TRUE(applied.ok()) << applied;
  }
};

// Truncates the last commit's writes at every byte, in write order: segments first, then the
// journal.
TEST_F(CrashTest, LastCommitTornAtAnyByte_IsDropped) {
  MustOpen();
  MakeTopics();
  for (int64_t n = 0; n < 4; ++n) Apply(n);
  auto committer = log_->OpenCommitter("c");
  CopyDir(options_.dir, Dir("before"));
  ASSERT_TRUE((*committer)->Apply(Numbered(4)).ok());
  CopyDir(options_.dir, Dir("after"));
  log_.reset();

  struct Growth {
    std::string path;  // relative to the data directory
    std::string before;
    std::string after;
  };
  std::vector<Growth> growths;
  for (const char* path :
       {"topics/a/0/00000000000000000000.seg", "topics/b/0/00000000000000000000.seg",
        "commits/00000000000000000001.journal"}) {
    growths.push_back(
        {path, Slurp(Cat(Dir("before"), "/", path)), Slurp(Cat(Dir("after"), "/", path))});
    ASSERT_GT(growths.back().after.size(), growths.back().before.size());
  }
  options_.dir = Dir("torn");
  for (size_t torn = 0; torn < growths.size(); ++torn) {
    const Growth& file = growths[torn];
    for (size_t size = file.before.size(); size <= file.after.size(); ++size) {
      log_.reset();
      CopyDir(Dir("before"), options_.dir);
      for (size_t i = 0; i < torn; ++i)
        Spill(Cat(options_.dir, "/", growths[i].path), growths[i].after);
      Spill(Cat(options_.dir, "/", file.path), file.after.substr(0, size));
      MustOpen();
      const bool whole = torn + 1 == growths.size() && size == file.after.size();
      ASSERT_EQ(CheckCommits(), whole ? 5 : 4) << file.path << " cut to " << size;
      EXPECT_TRUE(log_->Damage().empty())
          << "a torn tail must not count as damage: " << log_->Damage()[0].message;
      // The log accepts new commits after recovery.
      Apply(whole ? 5 : 4);
      ASSERT_EQ(CheckCommits(), whole ? 6 : 5);
    }
  }
}

// After a power loss, the journal may be on disk while the records are missing or zeroed.
TEST_F(CrashTest, CommitWithMissingRecordsIsDropped) {
  MustOpen();
  MakeTopics();
  for (int64_t n = 0; n < 3; ++n) Apply(n);
  ASSERT_TRUE(log_->Sync().ok());
  CopyDir(options_.dir, Dir("flushed"));
  for (int64_t n = 3; n < 6; ++n) Apply(n);
  CopyDir(options_.dir, Dir("after"));
  log_.reset();
  const std::string path = "topics/a/0/00000000000000000000.seg";
  const size_t flushed = Slurp(Cat(Dir("flushed"), "/", path)).size();
  const std::string after = Slurp(Cat(Dir("after"), "/", path));
  options_.dir = Dir("cut");
  int64_t last = 3;
  for (size_t size = flushed; size < after.size(); ++size) {
    for (const bool zeros : {false, true}) {
      std::string content = after.substr(0, size);
      if (zeros) content.resize(after.size(), '\0');
      // A run of fewer than 8 zero bytes could also be damage. It counts as a missing page only at
      // the start of a sector.
      if (zeros && after.size() - size < 8) continue;
      log_.reset();
      CopyDir(Dir("after"), options_.dir);
      Spill(Cat(options_.dir, "/", path), content);
      MustOpen();
      const int64_t count = CheckCommits();
      ASSERT_GE(count, last) << "more bytes must not result in fewer commits";
      ASSERT_LT(count, 6);
      EXPECT_FALSE(log_->Damage().empty()) << "the loss of acknowledged commits must be reported";
      if (zeros) last = count;
    }
  }
  EXPECT_EQ(last, 5);
}

// Journal pages may reach the disk in any order, so a hole may be followed by valid frames.
TEST_F(CrashTest, HoleInUnflushedJournalCountsAsTornTail) {
  MustOpen();
  MakeTopics();
  for (int64_t n = 0; n < 3; ++n) Apply(n);
  ASSERT_TRUE(log_->Sync().ok());
  const size_t flushed = Slurp(Journal()).size();
  for (int64_t n = 3; n < 6; ++n) Apply(n);
  CopyDir(options_.dir, Dir("after"));
  log_.reset();
  options_.dir = Dir("hole");
  CopyDir(Dir("after"), options_.dir);
  std::string journal = Slurp(Journal());
  for (size_t i = flushed + 5; i < flushed + 25; ++i) journal[i] = '\0';
  Spill(Journal(), journal);
  MustOpen();
  EXPECT_EQ(CheckCommits(), 3);
  ASSERT_EQ(log_->Damage().size(), 1U);
  EXPECT_NE(log_->Damage()[0].message.find("never flushed"), std::string::npos);
  Apply(3);
  MustOpen();
  EXPECT_EQ(CheckCommits(), 4);
}

TEST_F(CrashTest, OpenFlushesUnflushedFilesOfPreviousProcess) {
  MustOpen();
  MakeTopics();
  for (int64_t n = 0; n < 3; ++n) Apply(n);
  CopyDir(options_.dir, Dir("killed"));
  log_.reset();
  options_.dir = Dir("killed");
  MustOpen();
  EXPECT_EQ(CheckCommits(), 3);
  // This process writes only to topic b, but the mark must also hold for the previous process's
  // frames.
  Append({Out("b", "x", "k", 1)});
  ASSERT_TRUE(log_->Sync().ok());
  const auto position = log_->Committed("g", {"a", 0});
  EXPECT_EQ((*position)->offset, 3);
}

struct KillCase {
  const char* name;
  FsyncPolicy fsync;
  int64_t segment_bytes;
  int64_t checkpoint_bytes;
};

class KillTest : public CrashTest, public ::testing::WithParamInterface<KillCase> {
 protected:
  // Commits until the process is killed. Writes the number of each acknowledged commit to the pipe.
  [[noreturn]] void Child(int acknowledge) {
    clock::SystemClock clock;
    auto opened = OpenEmbeddedLog(options_, &clock);
    if (!opened.ok()) _exit(3);
    auto position = (*opened)->Committed("g", {"a", 0});
    auto committer = (*opened)->OpenCommitter("c");
    if (!position.ok() || !committer.ok()) _exit(4);
    for (int64_t n = position->has_value() ? (*position)->offset : 0;; ++n) {
      if (!(*committer)->Apply(Numbered(n)).ok()) _exit(5);
      if (::write(acknowledge, &n, sizeof(n)) != sizeof(n)) _exit(6);
    }
  }
};

TEST_P(KillTest, KillNeverLeavesPartialCommit) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  options_.fsync = GetParam().fsync;
  options_.segment_bytes = GetParam().segment_bytes;
  options_.checkpoint_bytes = GetParam().checkpoint_bytes;
  MustOpen();
  MakeTopics();
  int64_t before = 0;
  for (int life = 0; life < 12; ++life) {
    log_.reset();
    options_.background = true;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      Child(ends[1]);
    }
    ::close(ends[1]);
    int64_t acknowledged = before - 1;
    const unsigned wanted = 1 + random() % 60;
    for (unsigned i = 0; i < wanted; ++i) {
      int64_t n = 0;
      ASSERT_EQ(::read(ends[0], &n, sizeof(n)), static_cast<ssize_t>(sizeof(n)))
          << "child exited early";
      ASSERT_EQ(n, acknowledged + 1);
      acknowledged = n;
    }
    // The busy wait has a random length, so the kill can happen at any point in a commit.
    volatile unsigned spin = random() % 300'000;
    while (spin > 0) spin = spin - 1;
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    int64_t n = 0;
    while (::read(ends[0], &n, sizeof(n)) == sizeof(n)) acknowledged = n;
    ::close(ends[0]);
    options_.background = false;
    MustOpen();
    const int64_t count = CheckCommits();
    EXPECT_GE(count, acknowledged + 1) << "an acknowledged commit is lost";
    EXPECT_LE(count, acknowledged + 2) << "at most one unacknowledged commit may survive";
    EXPECT_TRUE(log_->Damage().empty());
    before = count;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Log, KillTest,
    ::testing::Values(KillCase{"never", FsyncPolicy::kNever, 64 << 20, 4 << 20},
                      KillCase{"interval_small_segments", FsyncPolicy::kInterval, 2000, 3000},
                      KillCase{"always", FsyncPolicy::kAlways, 4000, 2000}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pitwall::log
