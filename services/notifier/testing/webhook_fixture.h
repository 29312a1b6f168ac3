// Notifier with webhooks, an in-memory log, a scripted transport, and a fake clock.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {1, false, -1}).ok());
    EXPECT_TRUE(log_.EnsureTopic("pitwall.dlq", {1, false, -1}).ok());
  }

  static WebhookOptions Webhook(std::string name = "w") {
    WebhookOptions o;
    o.name = std::move(name);
    o.url = Cat("https://", o.name, ".example/hook");
    o.jitter_seed = 7;
    return o;
  }

  void Run(std::vector<WebhookOptions> webhooks) {
    NotifierOptions options;
    for (const WebhookOptions& webhook : webhooks) options.receivers.push_back(ToReceiver(webhook));
    auto notifier =
        Notifier::Make(&clock_, &log_, {.http = &transport_}, std::move(options), &exposition_);
    ASSERT_TRUE(notifier.ok()) << notifier.status();
    notifier_ = *std::move(notifier);
    const Status started = notifier_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }

  // Makes the next `times` writes of this kind fail. The counter is shared because the notifier
  // outlives the test body.
  void Fail(std::string_view kind, int times, std::string_view why) {
    auto left = std::make_shared<std::atomic<int>>(times);
    log_.SetWriteFault([=](std::string_view what) {
      return what == kind && *left > 0 && (*left)-- > 0 ? Unavailable(why) : OkStatus();
    });
  }

  // Advances the clock until `done` returns true.
  void Pass(const std::function<bool()>& done, int64_t step_ns = kNanosPerSecond / 2) {
    const size_t threads = 1 + notifier_->Receivers().size();
    for (int i = 0; !done(); ++i) {
      ASSERT_LT(i, 100'000);
      clock_.AwaitWaiters(threads);
      if (done()) break;
      clock_.Advance(step_ns);
    }
  }
  int64_t Stored(std::string_view name) {
    const auto committed = log_.Committed(Cat("pitwall-webhook-", name), {"pitwall.issues", 0});
    return committed.ok() && *committed ? (*committed)->offset : -1;
  }
  ReceiverStatus StatusOf(size_t i = 0) { return notifier_->Receivers()[i]; }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  ScriptedTransport transport_{[](const HttpCall&, size_t) { return Reply(200); }};
  self_metrics::Exposition exposition_;
  std::unique_ptr<Notifier> notifier_;
};

}  // namespace pitwall::notifier
