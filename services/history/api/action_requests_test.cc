// Tests for requests to capture or stop a job, and to change an interval or a rule parameter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/history/api/testing/api_fixture.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using ActionRequests = ApiTest;

TEST_F(ActionRequests, CaptureRequiresRunningJobAndCompleteId) {
  history_.Edit("runs", [](auto*) {});
  EXPECT_EQ(Ask("POST", "/job/capture?job=runs").status, 409);  // no capture source is configured
  FakeCaptures captures;
  options_.captures = &captures;
  const http::HttpResponse asked = Ask("POST", "/job/capture?job=runs&rank=1&rank=3");
  EXPECT_EQ(asked.body, "{\"request\":\"request-2\"}");
  ASSERT_THAT(captures.asked, SizeIs(1));
  EXPECT_EQ(captures.asked[0].job, "runs");
  EXPECT_THAT(captures.asked[0].ranks, ElementsAre(1, 3));
  EXPECT_EQ(captures.asked[0].principal, "act");
  EXPECT_GT(captures.asked[0].expires.ns(), clock_.WallNs());
  EXPECT_EQ(Ask("POST", "/job/capture?job=run").status, 400);    // not the complete ID
  EXPECT_EQ(Ask("POST", "/job/capture?job=job-1").status, 409);  // the job has ended
  EXPECT_EQ(Ask("POST", "/job/capture?job=runs&rank=-1").status, 400);
  EXPECT_THAT(captures.asked, SizeIs(1));
}

TEST_F(ActionRequests, StopRequiresReasonAndCompleteId) {
  history_.Edit("runs", [](auto*) {});
  EXPECT_EQ(Ask("POST", "/job/stop?job=runs&reason=x").status, 409);  // requests are disabled
  std::vector<ActionEvent> asked;
  options_.request_action = [&](const ActionEvent& request) {
    asked.push_back(request);
    return OkStatus();
  };
  EXPECT_EQ(Ask("POST", "/job/stop?job=runs").status, 400);
  EXPECT_EQ(Ask("POST", "/job/stop?job=runs&reason=%20").status, 400);
  EXPECT_EQ(Ask("POST", "/job/stop?job=run&reason=x").status, 400);    // not the complete ID
  EXPECT_EQ(Ask("POST", "/job/stop?job=job-1&reason=x").status, 409);  // the job has ended
  ASSERT_THAT(asked, SizeIs(0));
  const http::HttpResponse answer = Ask("POST", "/job/stop?job=runs&reason=it%20diverges");
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(answer.body, Cat("{\"request\":\"", asked[0].issue, "\"}"));
  EXPECT_EQ(asked[0].issue.size(), 32);
  EXPECT_EQ(asked[0].type, ActionEventType::kRequested);
  EXPECT_EQ(asked[0].job, "runs");
  EXPECT_EQ(asked[0].rule, kStopRequestRule);
  EXPECT_EQ(asked[0].why, "it diverges");
  EXPECT_EQ(asked[0].principal, "act");
  EXPECT_GT(asked[0].expires.ns(), clock_.WallNs());
  (void)Ask("POST", "/job/stop?job=runs&reason=again");
  EXPECT_EQ(Ask("POST", "/job/interval?job=runs&interval=3s&reason=x").status, 400);
  EXPECT_EQ(Ask("POST", "/job/interval?job=job-1&interval=5s&reason=x").status, 409);
  EXPECT_NE(asked[1].issue, asked[0].issue);
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(Ask("POST", "/job/interval?job=runs&interval=5s&reason=x").status, 200);
  ASSERT_THAT(asked, SizeIs(3));
  EXPECT_EQ(asked[2].kind, ActionKind::kInterval);
  EXPECT_EQ(asked[2].interval.ns(), 5 * kNanosPerSecond);
  EXPECT_EQ(asked[2].rule, kIntervalRequestRule);
  EXPECT_EQ(asked[0].kind, ActionKind::kStop);
}

TEST_F(ActionRequests, OnlyValidParameterChangesAreRequested) {
  history_.Edit("runs", [](auto*) {});
  std::vector<ActionEvent> asked;
  options_.request_action = [&](const ActionEvent& request) {
    asked.push_back(request);
    return OkStatus();
  };
  options_.check_parameter = [](const ParameterChange& change) {
    return change.name == "limit" ? OkStatus() : InvalidArgument("parameter: not in the rule");
  };
  const std::string path = "/job/parameter?job=runs&rule=p/g/A&reason=to%20see&parameter=";
  for (const std::string_view value : {"", "&value=", "&value=many", "&value=nan", "&value=inf"})
    EXPECT_EQ(Ask("POST", Cat(path, "limit", value)).status, 400) << value;
  const http::HttpResponse wrong = Ask("POST", Cat(path, "lmit&value=1"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body, HasSubstr(R"("place":"parameter")"));
  EXPECT_EQ(
      Ask("POST", "/job/parameter?job=job-1&rule=p/g/A&reason=x&parameter=limit&value=1").status,
      409);
  EXPECT_EQ(
      Ask("POST", "/job/parameter?job=run&rule=p/g/A&reason=x&parameter=limit&value=1").status,
      400);
  ASSERT_THAT(asked, SizeIs(0));
  EXPECT_EQ(Ask("POST", Cat(path, "limit&value=0.3")).status, 200);
  EXPECT_EQ(Ask("POST", Cat(path, "limit&value=null")).status, 200);
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].kind, ActionKind::kParameter);
  EXPECT_EQ(asked[0].rule, kParameterRequestRule);
  EXPECT_EQ(asked[0].parameter, (ParameterChange{"p/g/A", "limit", 0.3, std::nullopt}));
  EXPECT_EQ(asked[1].parameter.value, std::nullopt);
  EXPECT_EQ(asked[0].why, "to see");
}

}  // namespace
}  // namespace pitwall::history
