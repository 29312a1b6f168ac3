#include "services/notifier/delivery/receiver_caller.h"

#include <gtest/gtest.h>

#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class ReceiverCallerTest : public ::testing::Test {
 protected:
  ReceiverCallerTest() {
    item_.event = std::make_shared<const IssueEvent>(MakeEvent("job", "r", 1));
  }
  static ReceiverOptions Options() {
    WebhookOptions options;
    options.name = "w";
    options.url = "https://w.example/hook";
    return ToReceiver(options);
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  ScriptedTransport transport_{[](const HttpCall&, size_t) { return Reply(200); }};
  IssueActions acted_{&clock_, &log_, "pitwall.actions", 10};
  std::atomic<bool> cancel_{false};
  ReceiverReport report_{"w", Options().receiver};
  ReceiverCaller caller_{&clock_, {.http = &transport_}, &acted_, Options(), &cancel_, &report_};
  FeedItem item_;
};

TEST_F(ReceiverCallerTest, ReturnsVerdict) {
  const auto result = caller_.Send(item_, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->verdict.kind, Verdict::Kind::kTaken);
  EXPECT_EQ(result->retry_after_ns, 0);
  ASSERT_EQ(transport_.calls().size(), 1U);
  EXPECT_EQ(transport_.calls()[0].cancel, &cancel_);
}

TEST_F(ReceiverCallerTest, ReturnsRetryAfter) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(429, "7"); });
  const auto result = caller_.Send(item_, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->verdict.kind, Verdict::Kind::kThrottled);
  EXPECT_EQ(result->retry_after_ns, 7 * kNanosPerSecond);
}

TEST_F(ReceiverCallerTest, FailedCallFailsUnlessCanceled) {
  transport_.SetScript(
      [](const HttpCall&, size_t) -> StatusOr<HttpReply> { return Unavailable("no route"); });
  const auto failed = caller_.Send(item_, {});
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->verdict.kind, Verdict::Kind::kFailed);
  cancel_ = true;
  EXPECT_FALSE(caller_.Send(item_, {}).has_value());
}

}  // namespace
}  // namespace pitwall::notifier
