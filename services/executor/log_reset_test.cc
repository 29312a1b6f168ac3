// Tests for logs that were deleted, recreated, or truncated. The executor neither acts on old
// issues nor misses new issues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/executor/testing/executor_fixture.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExecutorLogResetTest : public ExecutorTest {
 protected:
  ~ExecutorLogResetTest() override { executor_.reset(); }

  void PassTime(int seconds) {
    for (int i = 0; i < 5 * seconds; ++i) {
      Settle();
      clock_.Advance(200 * kNanosPerMilli);
    }
    Settle();
  }
  // Publishes issues that do not trigger actions.
  void Noise(int count) {
    for (int i = 0; i < count; ++i) {
      IssueEvent event = Issue(Cat("noise", i), 1);
      event.rule = "q/g/B";
      Publish(event);
    }
  }
};

TEST_F(ExecutorLogResetTest, TopicRecreatedWhileRunning_NewIssuesAreActedOn) {
  processes_.Run(17, 170);
  Run(Options());
  Noise(9);
  PassTime(7);
  log_.Recreate("pitwall.issues");
  PassTime(3);
  Publish(Issue("a", 17));
  Pass([&] { return !processes_.signals().empty(); });
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_THAT(std::string(executor_->Health().message()), HasSubstr("log_truncated"));
  EXPECT_EQ(executor_->counters().log_resets.value(), 1U);
  PassTime(301);
  EXPECT_TRUE(executor_->Health().ok()) << executor_->Health();
}

TEST_F(ExecutorLogResetTest, TopicRecreatedBeforeStart_OldIssuesAreIgnored) {
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  Run(Options());
  Noise(5);
  PassTime(7);
  executor_.reset();
  log_.Recreate("pitwall.issues");
  clock_.Advance(kNanosPerSecond);
  Noise(9);
  Publish(Issue("a", 17));
  Run(Options());
  PassTime(3);
  EXPECT_THAT(processes_.signals(), IsEmpty());
  EXPECT_EQ(executor_->counters().log_resets.value(), 1U);
  // The engine repeats the open issue in the new log.
  Publish(Issue("a", 17, 2, EventType::kIssueUpdated));
  Publish(Issue("b", 18));
  Pass([&] { return processes_.signals().size() == 2; });
}

TEST_F(ExecutorLogResetTest, LostDecisions_PreventActions) {
  processes_.exits = false;
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  processes_.Run(19, 190);
  Run(Options());
  Publish(Issue("a", 17));
  Pass([&] { return processes_.signals().size() == 1; });
  PassTime(7);
  executor_.reset();
  log_.Recreate("pitwall.actions");
  Run(Options());
  Publish(Issue("a", 17, 2, EventType::kIssueUpdated));  // decided before, but the decision is lost
  Publish(Issue("b", 18));
  PassTime(5);
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_THAT(std::string(executor_->Health().message()), HasSubstr("log_truncated"));
  EXPECT_THAT(std::string(executor_->Health().message()), HasSubstr("--accept-log-reset"));
  executor_.reset();

  ExecutorOptions accept = Options();
  accept.accept_log_reset = true;
  Run(accept);
  PassTime(2);
  EXPECT_TRUE(executor_->Health().ok()) << executor_->Health();
  Publish(Issue("a", 17, 3, EventType::kIssueUpdated));
  PassTime(7);
  EXPECT_THAT(
      processes_.signals(),
      ElementsAre(17));  // the issue started before the reset, so the executor never acts on it
  executor_.reset();
  Run(Options());
  Publish(Issue("a", 17, 4, EventType::kIssueUpdated));
  IssueEvent fresh = Issue("c", 19);
  fresh.active_since = fresh.started_at = fresh.time =
      EventTime::FromNs(clock_.WallNs() + kNanosPerSecond);
  fresh.id = MakeEventId(fresh);
  Publish(fresh);
  Pass([&] { return processes_.signals().size() == 2; });
  EXPECT_THAT(processes_.signals(), ElementsAre(17, 19));
}

TEST_F(ExecutorLogResetTest, DecisionsRecreatedWhileRunning_StopActions) {
  processes_.exits = false;
  processes_.Run(17, 170);
  processes_.Run(18, 180);
  Run(Options());
  Publish(Issue("a", 17));
  Pass([&] { return processes_.signals().size() == 1; });
  PassTime(7);
  log_.Recreate("pitwall.actions");
  IssueEvent other = Issue("a", 18);  // this issue's decision would go to the same partition
  other.rule = "p/g/B";
  other.id = MakeEventId(other);
  Publish(other);
  Publish(Issue("a", 17, 2, EventType::kIssueUpdated));
  PassTime(5);
  EXPECT_THAT(processes_.signals(), ElementsAre(17));
  EXPECT_THAT(std::string(executor_->Health().message()), HasSubstr("--accept-log-reset"));
}

}  // namespace
}  // namespace pitwall::executor
