// Tests for commits with an unknown result. The executor reads the log and never signals twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Actual result of a commit whose reply was lost.
enum class CommitResult { kNone, kLost, kKept };

// Log whose committers can lose their broker during a commit, like Kafka committers. Such a
// committer then returns Aborted for every call, and a new committer resolves the open transaction.
class UnconfirmedLog final : public Log {
 public:
  explicit UnconfirmedLog(Log* log) : log_(log) {}

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return log_->EnsureTopic(topic, config);
  }
  StatusOr<int32_t> Partitions(std::string_view topic) override { return log_->Partitions(topic); }
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    return log_->OpenReader(at, from);
  }
  StatusOr<std::unique_ptr<Appender>> OpenAppender() override { return log_->OpenAppender(); }
  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override {
    return log_->Committed(group, at);
  }
  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override {
    return log_->StorePosition(group, at, to);
  }
  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view id) override {
    if (failed_opens > 0 && failed_opens-- > 0) return Unavailable("broker away");
    if (lost_ && before_open) before_open();
    ASSIGN_OR_RETURN(auto committer, log_->OpenCommitter(id));
    return std::make_unique<UnsureCommitter>(this, std::move(committer));
  }

  // Applies the result to the next commit that contains an action of the given type.
  void Next(ActionEventType type, CommitResult fate) {
    const std::lock_guard<std::mutex> lock(mutex_);
    type_ = type;
    fate_ = fate;
  }
  std::atomic<int> failed_opens{0};
  std::function<void()> before_open;  // called before a new committer opens after a loss

 private:
  class UnsureCommitter final : public Committer {
   public:
    UnsureCommitter(UnconfirmedLog* log, std::unique_ptr<Committer> inner)
        : log_(log), inner_(std::move(inner)) {}
    Status Apply(const Commit& commit) override {
      if (lost_) return Aborted("open a new one");
      const CommitResult fate = log_->FateOf(commit);
      if (fate == CommitResult::kNone) return inner_->Apply(commit);
      if (fate == CommitResult::kKept) {
        EXPECT_TRUE(inner_->Apply(commit).ok());
      }
      lost_ = log_->lost_ = true;
      return Aborted("the outcome is unknown");
    }

   private:
    UnconfirmedLog* const log_;
    const std::unique_ptr<Committer> inner_;
    bool lost_ = false;
  };

  CommitResult FateOf(const Commit& commit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const OutgoingRecord& record : commit.outputs) {
      const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
      if (action.ok() && action->type == type_) return std::exchange(fate_, CommitResult::kNone);
    }
    return CommitResult::kNone;
  }

  Log* const log_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  ActionEventType type_ = ActionEventType::kDecided;
  CommitResult fate_ = CommitResult::kNone;
};

class ExecutorRecoveryTest : public ExecutorTest {
 protected:
  void RunUnconfirmed() {
    auto executor = Executor::Make(&clock_, &unconfirmed_, &processes_, Options());
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    ASSERT_TRUE(executor_->Start().ok());
  }
  ~ExecutorRecoveryTest() override { executor_.reset(); }  // must be destroyed before its log

  UnconfirmedLog unconfirmed_{&log_};
};

TEST_F(ExecutorRecoveryTest, LostDecision_IsRepeated) {
  processes_.Run(17, 170);
  RunUnconfirmed();
  unconfirmed_.Next(ActionEventType::kDecided, CommitResult::kLost);
  Publish(Issue("j", 17));
  Pass([&] { return executor_->counters().failed_commits.value() == 1; });
  EXPECT_THAT(processes_.signals(), IsEmpty());
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  Settle();
  EXPECT_TRUE(executor_->Health().ok()) << executor_->Health();
}

TEST_F(ExecutorRecoveryTest, CommittedDecision_IsExecutedOnce) {
  processes_.Run(17, 170);
  RunUnconfirmed();
  unconfirmed_.Next(ActionEventType::kDecided, CommitResult::kKept);
  processes_.before_signal = [&] { EXPECT_EQ(Kinds(), std::vector<std::string>{"decided live"}); };
  Publish(Issue("j", 17));
  Pass([&] { return executor_->counters().failed_commits.value() == 1; });
  EXPECT_THAT(processes_.signals(), IsEmpty()) << "not before the log was read";
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  Publish(Issue("j", 17, 2, EventType::kIssueUpdated));
  Settle();
  EXPECT_EQ(Actions().size(), 2U);
}

TEST_F(ExecutorRecoveryTest, CommittedDecision_IssueEnded_IsNotExecuted) {
  processes_.Run(17, 170);
  RunUnconfirmed();
  unconfirmed_.Next(ActionEventType::kDecided, CommitResult::kKept);
  unconfirmed_.before_open = [&] { Publish(Issue("j", 17, 2, EventType::kIssueResolved)); };
  Publish(Issue("j", 17));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("decided live", "done live"));
  EXPECT_THAT(Actions()[1].effect, HasSubstr("not executed: the issue ended"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(ExecutorRecoveryTest, OutcomeIsRecordedOnce) {
  for (const CommitResult fate : {CommitResult::kLost, CommitResult::kKept}) {
    const int64_t pid = fate == CommitResult::kLost ? 17 : 18;
    processes_.Run(pid, static_cast<uint64_t>(pid) * 10);
    if (executor_ == nullptr) RunUnconfirmed();
    unconfirmed_.Next(ActionEventType::kDone, fate);
    const size_t before = Actions().size();
    Publish(Issue(Cat("j", pid), pid));
    Pass([&] { return Actions().size() == before + 2; });
    for (int i = 0; i < 20; ++i) {
      Settle();
      clock_.Advance(200 * kNanosPerMilli);
    }
    EXPECT_EQ(Actions().size(), before + 2);
    EXPECT_EQ(processes_.signals().back(), pid);
  }
  EXPECT_EQ(processes_.signals().size(), 2U);
  EXPECT_TRUE(executor_->Health().ok()) << executor_->Health();
}

TEST_F(ExecutorRecoveryTest, HealthReportsPausedPartition) {
  processes_.Run(17, 170);
  RunUnconfirmed();
  unconfirmed_.Next(ActionEventType::kDecided, CommitResult::kLost);
  unconfirmed_.failed_opens = 3;
  Publish(Issue("j", 17));
  Pass([&] { return unconfirmed_.failed_opens == 1; });
  Settle();
  EXPECT_FALSE(executor_->Health().ok());
  EXPECT_THAT(processes_.signals(), IsEmpty());
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
}

// Another executor on this node decides the issue while this executor does not know the result of
// its commit.
TEST_F(ExecutorRecoveryTest, DecisionOfAnotherExecutor_IsNotRepeated) {
  processes_.Run(17, 170);
  RunUnconfirmed();
  FakeProcesses others;
  others.Run(17, 170);
  std::unique_ptr<Executor> other;
  std::atomic<bool> begun{false}, decided{false};
  unconfirmed_.before_open = [&] {
    if (begun.exchange(true)) return;
    auto made = Executor::Make(&clock_, &log_, &others, Options());
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE(log_.StorePosition("pitwall-executor-n1", {"pitwall.issues", 0}, {0, ""}).ok());
    ASSERT_TRUE((*made)->Start().ok());
    while ((*made)->counters().decided_live.value() == 0) {
    }
    other = *std::move(made);
    decided = true;
  };
  unconfirmed_.Next(ActionEventType::kDecided, CommitResult::kLost);
  Publish(Issue("j", 17));
  Pass([&] { return decided && Actions().size() >= 2; });
  for (int i = 0; i < 20; ++i) {
    clock_.AwaitWaiters(4);  // each of the two executors has two partitions
    clock_.Advance(200 * kNanosPerMilli);
  }
  executor_.reset();  // the executor's threads use the objects above
  EXPECT_THAT(others.signals(), ElementsAre(17));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

}  // namespace
}  // namespace pitwall::executor
