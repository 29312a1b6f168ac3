#include "services/executor/worker/stop_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::HasSubstr;

class StopCandidatesTest : public ExecutorTest {
 protected:
  StopCandidatesTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.actions", {2, false, -1}).ok());
    EXPECT_TRUE(decisions_.ReadAll().ok());
  }
  // Returns an issue for a job on the fake platform.
  static IssueEvent IssueOf(const std::string& job, uint64_t sequence = 1) {
    IssueEvent event = Issue(job, 17, sequence);
    event.reference.platform = "p";
    event.reference.uid = job;
    return event;
  }
  std::vector<StopDecision> Decide() {
    StatusOr<std::vector<StopDecision>> decisions = candidates_.Decide();
    EXPECT_TRUE(decisions.ok()) << decisions.status();
    return decisions.ok() ? *std::move(decisions) : std::vector<StopDecision>();
  }

  const ExecutorOptions options_ = Options();
  FakeTarget target_{"p"};
  StopTargets targets_{{&target_}, /*others_elsewhere=*/true};
  DecisionIndex index_{{1, 3600 * kNanosPerSecond, 0, 100}};
  ActionsTopic decisions_{&clock_, &log_, &options_, &index_};
  ExecutorCounters counters_;
  StopCandidates candidates_{&targets_, &options_, &index_, &decisions_, &counters_};
};

TEST_F(StopCandidatesTest, LiveDecisionContainsObservedState) {
  target_.Run("j");
  candidates_.Consider(IssueOf("j"));
  const std::vector<StopDecision> decisions = Decide();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_TRUE(decisions[0].live());
  EXPECT_EQ(decisions[0].target, &target_);
  EXPECT_EQ(decisions[0].grace_ns, 30 * kNanosPerSecond);
  EXPECT_THAT(decisions[0].action.why, HasSubstr("the issue is open and job j is running"));
  EXPECT_EQ(candidates_.size(), 1U) << "kept until the commit";
}

TEST_F(StopCandidatesTest, BudgetGoesToEarliestIssue) {
  target_.Run("a");
  target_.Run("b");
  candidates_.Consider(IssueOf("a", 2));
  candidates_.Consider(IssueOf("b", 1));
  const std::vector<StopDecision> decisions = Decide();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].action.job, "b");
  EXPECT_TRUE(decisions[0].live());
  EXPECT_EQ(decisions[1].action.type, ActionEventType::kRefused);
}

TEST_F(StopCandidatesTest, EachIssueIsRefusedOnce) {
  candidates_.Consider(IssueOf("j"));
  std::vector<StopDecision> decisions = Decide();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_THAT(decisions[0].action.why, HasSubstr("refused: no such job"));
  index_.Record(decisions[0].action);
  EXPECT_TRUE(Decide().empty());
}

TEST_F(StopCandidatesTest, JobsOfOtherExecutorsAreSkipped) {
  candidates_.Consider(Issue("j", 17));
  EXPECT_EQ(candidates_.size(), 0U);
  EXPECT_EQ(counters_.elsewhere.value(), 1U);
}

TEST_F(StopCandidatesTest, ResolvedIssueIsRemoved) {
  const IssueEvent issue = IssueOf("j");
  candidates_.Consider(issue);
  candidates_.Remove(IssueId(issue));
  candidates_.Remove("unknown");
  EXPECT_EQ(candidates_.size(), 0U);
}

}  // namespace
}  // namespace pitwall::executor
