// Tests for issue links in messages to receivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class LengthSigner final : public WebhookSigner {
 public:
  std::string Sign(std::string_view, int64_t, std::string_view body) const override {
    return Cat(body.size());
  }
};

TEST(WebhookLink, PointsToServerThatShowsIssue) {
  fakes::FakeClock clock;
  fakes::MemoryLog log{&clock};
  ScriptedTransport transport([](const HttpCall&, size_t) { return Reply(200); });
  ASSERT_TRUE(log.EnsureTopic("pitwall.issues", {1, false, -1}).ok());
  NotifierOptions options;
  WebhookOptions webhook;
  webhook.name = "w";
  webhook.url = "https://w.example/hook";
  webhook.signer = std::make_shared<LengthSigner>();
  webhook.external_url = "https://pitwall.example/";
  options.receivers.push_back(ToReceiver(webhook));
  auto notifier = Notifier::Make(&clock, &log, {.http = &transport}, std::move(options));
  ASSERT_TRUE(notifier.ok()) << notifier.status();
  ASSERT_TRUE((*notifier)->Start().ok());
  const IssueEvent event = MakeEvent("a", "r", 1);
  Publish(&log, event);
  transport.AwaitAnswered(1);
  const HttpCall call = transport.calls()[0];
  EXPECT_THAT(call.body, ::testing::HasSubstr(Cat("\"link\":\"https://pitwall.example/jobs/",
                                                  event.job, "?issue=", IssueId(event), "\"")));
  // The signature matches the sent body, and the body decodes to the same event.
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "webhook-signature"), Cat(call.body.size()));
  const auto read = cloudevents::DecodeCloudEvent(call.body);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(cloudevents::EncodeCloudEvent(*read), cloudevents::EncodeCloudEvent(event));
}

}  // namespace
}  // namespace pitwall::notifier
