// Tests for user stop requests under the executor's policies.
#include <gmock/gmock.h>

#include <algorithm>

#include "services/executor/stop_requests.h"
#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class StopRequestsTest : public ExecutorTest {
 protected:
  StopRequestsTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.actions", {2, false, -1}).ok());
    processes_.Run(7, 70);
  }
  static ExecutorOptions Policies(PolicyMode mode) {
    ExecutorOptions o;
    o.node = "n1";
    o.policies = {{std::string(kStopRequestRule), mode, 30 * kNanosPerSecond}};
    return o;
  }
  ActionEvent Request(std::string id) {
    const IssueEvent like = Issue("job-a", 7);
    ActionEvent request;
    request.type = ActionEventType::kRequested;
    request.issue = std::move(id);
    request.job = like.job;
    request.owner = like.owner;
    request.rule = std::string(kStopRequestRule);
    request.alert = "StopRequested";
    request.mode = ActionMode::kLive;
    request.target = like.reference;
    request.why = "diverges";
    request.principal = "act";
    request.time = EventTime::FromNs(clock_.WallNs());
    request.expires = request.time + Duration::Seconds(60);
    request.id = MakeActionId(request);
    return request;
  }
  void Ask(const ActionEvent& request) {
    ASSERT_TRUE((*log_.OpenAppender())
                    ->Append({{.topic = "pitwall.actions",
                               .partition = 0,
                               .key = request.job,
                               .value = cloudevents::EncodeCloudEvent(request)}})
                    .ok());
  }
};

TEST_F(StopRequestsTest, LivePolicyStopsProcessAndNamesPrincipal) {
  Run(Policies(PolicyMode::kLive));
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 3; });
  EXPECT_THAT(processes_.signals(), ElementsAre(7));
  EXPECT_THAT(Kinds(), ElementsAre("requested live", "decided live", "done live"));
  const std::vector<ActionEvent> actions = Actions();
  EXPECT_EQ(actions[1].issue, "request-1");
  EXPECT_THAT(actions[1].why, HasSubstr("requested by act (diverges); policy request/stop: live"));
  EXPECT_THAT(actions[1].why, Not(HasSubstr("issue")));
  EXPECT_THAT(actions[2].effect, HasSubstr("exited"));
}

TEST_F(StopRequestsTest, RequestOfARecreatedTopicIsRead) {
  StopRequests requests(&clock_, &log_, "pitwall.actions", "pitwall.actions", 0);
  std::vector<IssueEvent> events;
  Ask(Request("request-1"));
  Ask(Request("request-2"));
  ASSERT_TRUE(requests.Read(&events).ok());
  EXPECT_EQ(events.size(), 2U);
  log_.Recreate("pitwall.actions");
  Ask(Request("request-3"));
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(10 * kNanosPerSecond);
    ASSERT_TRUE(requests.Read(&events).ok());
  }
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events.back().id, "request-3");
}

TEST_F(StopRequestsTest, IntervalRequestIsNotAStop) {
  Run(Policies(PolicyMode::kLive));
  ActionEvent interval = Request("interval-1");
  interval.kind = ActionKind::kInterval;
  interval.interval = Duration::Seconds(5);
  interval.id = MakeActionId(interval);
  Ask(interval);  // has no effect, even with the rule name of a stop
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 4; });
  EXPECT_THAT(Kinds(),
              ElementsAre("requested live", "requested live", "decided live", "done live"));
  EXPECT_EQ(Actions()[2].issue, "request-1");
}

// If another component created the actions topic, it may have more partitions than the issues
// topic.
TEST_F(StopRequestsTest, ReadsRequestsOfEveryPartition) {
  ASSERT_TRUE(log_.EnsureTopic("more.actions", {5, false, -1}).ok());
  ExecutorOptions options = Policies(PolicyMode::kLive);
  options.actions_topic = "more.actions";
  Run(options);
  const ActionEvent request = Request("request-1");
  ASSERT_TRUE((*log_.OpenAppender())
                  ->Append({{.topic = "more.actions",
                             .partition = 4,
                             .key = request.job,
                             .value = cloudevents::EncodeCloudEvent(request)}})
                  .ok());
  Pass([&] { return !processes_.signals().empty(); });
  EXPECT_THAT(processes_.signals(), ElementsAre(7));
}

// Earlier requests are not reread, because they have either expired or been decided.
TEST_F(StopRequestsTest, RecreatedTopicIsReadFromStart) {
  Run(Policies(PolicyMode::kLive));
  ActionEvent old = Request("request-0");
  old.expires = EventTime::FromNs(1);
  for (int i = 0; i < 5; ++i) Ask(old);
  Settle();
  log_.Recreate("pitwall.actions");
  Settle();
  Ask(Request("request-1"));
  Pass([&] { return !processes_.signals().empty(); });
  EXPECT_THAT(processes_.signals(), ElementsAre(7));
}

TEST_F(StopRequestsTest, WithoutPolicy_IsDryRun) {
  Run({.node = "n1"});
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("requested live", "decided dry_run"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(StopRequestsTest, PolicyOff_RefusesWithReason) {
  Run(Policies(PolicyMode::kOff));
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Actions()[1].why, HasSubstr("refused: the policy is off"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(StopRequestsTest, RequestsCountTowardBudget) {
  ExecutorOptions options = Policies(PolicyMode::kLive);
  options.budget = 0;
  Run(options);
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Kinds(), ElementsAre("requested live", "refused live"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(StopRequestsTest, ProcessOfAnotherUser_IsNotStopped) {
  processes_.owner = "uid:7";
  Run(Policies(PolicyMode::kLive));
  Ask(Request("request-1"));
  Pass([&] { return Actions().size() == 2; });
  EXPECT_THAT(Actions()[1].why, HasSubstr("does not belong to uid:1000"));
  EXPECT_THAT(processes_.signals(), IsEmpty());
}

TEST_F(StopRequestsTest, ExecutesOnceAcrossRestartsAndNotAfterExpiry) {
  processes_.exits = false;
  Run(Policies(PolicyMode::kLive));
  Ask(Request("request-1"));
  Pass([&] { return !processes_.signals().empty(); });
  executor_->Stop();
  // A request made before startup remains valid until it expires.
  ActionEvent late = Request("request-2");
  late.expires = EventTime::FromNs(clock_.WallNs());
  Ask(late);
  Run(Policies(PolicyMode::kLive));
  for (int i = 0; i < 20; ++i) {
    Settle();
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_THAT(processes_.signals(), ElementsAre(7));
  const std::vector<ActionEvent> actions = Actions();
  EXPECT_EQ(std::count_if(actions.begin(), actions.end(),
                          [](const ActionEvent& action) { return action.issue == "request-2"; }),
            1);  // the executor does not reply to the request
}

}  // namespace
}  // namespace pitwall::executor
