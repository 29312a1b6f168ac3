// Tests for webhooks over real sockets: notifier -> libcurl -> a scripted server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/http/client/curl_transport.h"
#include "services/adapters/http/client/standard_webhooks.h"
#include "services/adapters/http/http_server.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// Server with replies that depend on the request number.
class Receiver {
 public:
  using Script = std::function<http::HttpResponse(size_t)>;
  explicit Receiver(Script script) : script_(std::move(script)) {
    http::HttpServerOptions options;
    options.handler_threads = 4;
    server_ = *http::HttpServer::Start(
        options,
        {{"POST", "/hook", [this](const http::HttpRequest& r) { return Take(r); }, false}});
  }
  std::string Url() const { return Cat("http://127.0.0.1:", server_->port(), "/hook"); }
  void AwaitRequests(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return requests_.size() >= count; });
  }
  std::vector<http::HttpRequest> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  http::HttpResponse Take(const http::HttpRequest& request) {
    size_t number = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
      changed_.notify_all();
    }
    return script_(number);
  }

  const Script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<http::HttpRequest> requests_;
  std::unique_ptr<http::HttpServer>
      server_;  // last member, so that the server stops before the others are destroyed
};

class WebhookHttpTest : public ::testing::Test {
 protected:
  WebhookHttpTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {1, false, -1}).ok());
    EXPECT_TRUE(log_.EnsureTopic("pitwall.dlq", {1, false, -1}).ok());
    signer_ = *http::MakeStandardWebhooksSigner({std::string(kSecret)});
    transport_ = *http::MakeCurlTransport({});
  }
  void Run(std::vector<std::string> urls) {
    NotifierOptions options;
    for (size_t i = 0; i < urls.size(); ++i) {
      WebhookOptions webhook;
      webhook.name = Cat("w", i);
      webhook.url = urls[i];
      webhook.signer = signer_;
      webhook.timeout_ns = 300 * kNanosPerMilli;
      webhook.retry.first_backoff_ns = 5 * kNanosPerMilli;
      webhook.retry.max_backoff_ns = 20 * kNanosPerMilli;
      options.receivers.push_back(ToReceiver(webhook));
    }
    auto notifier = Notifier::Make(&clock_, &log_, {.http = transport_.get()}, std::move(options));
    ASSERT_TRUE(notifier.ok()) << notifier.status();
    notifier_ = *std::move(notifier);
    ASSERT_TRUE(notifier_->Start().ok());
  }
  void Await(const std::function<bool()>& done) {
    const auto wakeup = clock_.NewWakeup();
    for (int i = 0; i < 20'000 && !done(); ++i) wakeup->Wait(kNanosPerMilli);
    ASSERT_TRUE(done());
  }

  clock::SystemClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::shared_ptr<const WebhookSigner> signer_;
  std::unique_ptr<HttpTransport> transport_;
  std::unique_ptr<Notifier> notifier_;
};

TEST_F(WebhookHttpTest, SurvivesErrorsTimeoutsAndThrottling) {
  std::mutex hung;
  hung.lock();  // request 1 times out
  Receiver receiver([&](size_t n) {
    if (n == 0) return http::HttpResponse::Text(500, "broken");
    if (n == 1) {
      const std::lock_guard<std::mutex> wait(hung);
      return http::HttpResponse::Text(200, "too late");
    }
    if (n == 2) {
      http::HttpResponse later = http::HttpResponse::Text(429, "");
      later.headers.emplace_back("Retry-After", "1");
      return later;
    }
    return http::HttpResponse::Text(204, "");
  });
  Run({receiver.Url()});
  const IssueEvent event = MakeEvent("a", "r", 1);
  Publish(&log_, event);
  Await([&] { return notifier_->Receivers()[0].delivered == 1; });
  hung.unlock();
  const std::vector<http::HttpRequest> requests = receiver.requests();
  ASSERT_EQ(requests.size(), 4U);
  for (const http::HttpRequest& request : requests) {
    EXPECT_EQ(request.Header("webhook-id"), event.id) << "the same ID for each attempt";
    EXPECT_EQ(request.Header("content-type"), "application/cloudevents+json");
    EXPECT_EQ(request.body, cloudevents::EncodeCloudEvent(event));
    const std::optional<int64_t> timestamp = ParseInt(request.Header("webhook-timestamp"));
    ASSERT_TRUE(timestamp);
    EXPECT_NEAR(static_cast<double>(*timestamp),
                static_cast<double>(clock_.WallNs() / kNanosPerSecond), 60);
    EXPECT_EQ(request.Header("webhook-signature"),
              signer_->Sign(event.id, *timestamp, request.body));
  }
  EXPECT_EQ(notifier_->Receivers()[0].attempts_failed, 3U);
  notifier_->Stop();
}

TEST_F(WebhookHttpTest, HealthyReceiverIsUnaffectedByGoneAndUnreachableOnes) {
  Receiver gone([](size_t) { return http::HttpResponse::Text(410, ""); });
  Receiver well([](size_t) { return http::HttpResponse::Text(200, "ok"); });
  Run({gone.Url(), "http://127.0.0.1:1/nobody", well.Url()});
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const IssueEvent event = MakeEvent(Cat("j", i), "r", 1);
    ids.push_back(event.id);
    Publish(&log_, event);
  }
  well.AwaitRequests(100);
  std::vector<std::string> got;
  for (const http::HttpRequest& request : well.requests())
    got.emplace_back(request.Header("webhook-id"));
  EXPECT_EQ(got, ids);
  Await([&] { return notifier_->Receivers()[0].disabled; });
  EXPECT_EQ(gone.requests().size(), 1U);
  EXPECT_FALSE(notifier_->Receivers()[1].last_error.empty());
  notifier_->Stop();
}

TEST_F(WebhookHttpTest, RejectsDisallowedAddresses) {
  http::CurlTransportOptions options;
  options.allow_insecure = true;
  transport_ = *http::MakeCurlTransport(options);
  Run({"http://169.254.169.254/latest/meta-data"});
  Publish(&log_, MakeEvent("a", "r", 1));
  Await([&] { return notifier_->Receivers()[0].attempts_failed > 0; });
  EXPECT_THAT(notifier_->Receivers()[0].last_error,
              ::testing::HasSubstr("169.254.169.254 is a link-local address"));
  notifier_->Stop();
}

}  // namespace
}  // namespace pitwall::notifier
