#include "services/app/text/action_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/clock.h"

namespace pitwall {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ActionLine, Action_NamesDecisionReasonAndEffect) {
  ActionEvent event;
  event.time = EventTime::FromNs(1'000 * kNanosPerSecond);
  event.job = "job-1";
  event.rule = "starter/training/LossNotFinite";
  event.why = "policy *: live; process 7 on n1 is running";
  event.mode = ActionMode::kLive;
  EXPECT_EQ(ActionLine(event),
            "1970-01-01T00:16:40.000Z  DECIDED  stop  live     job job-1  "
            "starter/training/LossNotFinite  policy *: live; process 7 on n1 is running");
  event.type = ActionEventType::kDone;
  event.effect = "SIGTERM sent; the process exited";
  event.job_name = "resnet";
  EXPECT_THAT(ActionLine(event), HasSubstr("DONE     stop  live     job resnet"));
  EXPECT_THAT(ActionLine(event), HasSubstr("is running; SIGTERM sent; the process exited"));
  event.type = ActionEventType::kRefused;
  event.mode = ActionMode::kDryRun;
  EXPECT_THAT(ActionLine(event), HasSubstr("REFUSED  stop  dry run"));
}

TEST(ExecutorNotice, Policies_StatesLiveOrDryRun) {
  ExecutorConfig config;
  EXPECT_THAT(ExecutorNotice(config), StartsWith("dry run: decisions are recorded"));
  EXPECT_THAT(ExecutorNotice(config), HasSubstr("mode: live"));
  config.policies = {{.rule = "a/*"}, {.rule = "b/*", .mode = "off"}};
  EXPECT_THAT(ExecutorNotice(config), StartsWith("dry run: decisions are recorded"));
  config.policies.push_back({.rule = "c/*", .mode = "live"});
  EXPECT_EQ(ExecutorNotice(config),
            "live: issues of rules that match c/* stop their jobs, at most 5 per hour and one per "
            "job in 10m; other rules cause dry runs");
  config.budget = 0;
  EXPECT_THAT(ExecutorNotice(config), StartsWith("dry run: executor.budget is 0"));
}

}  // namespace
}  // namespace pitwall
