// End-to-end tests for gRPC watches over loopback (log -> notifier -> gRPC -> client). The tests
// cut and resume streams while the topic grows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

// The tests run with the fake log and with the embedded on-disk log.
class GrpcWatchTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "Memory") {
      log_holder_ = std::make_unique<fakes::MemoryLog>(&clock_);
    } else {
      log::EmbeddedLogOptions options;
      options.dir = testing::TempDir() + Cat("/pitwall-watch-", getpid());
      std::filesystem::remove_all(options.dir);
      options.fsync = log::FsyncPolicy::kNever;
      auto opened = log::OpenEmbeddedLog(options, &clock_);
      ASSERT_TRUE(opened.ok()) << opened.status();
      dir_ = options.dir;
      log_holder_ = *std::move(opened);
    }
    log_ = log_holder_.get();
  }
  void TearDown() override {
    server_.reset();
    notifier_.reset();
    log_holder_.reset();
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }

  void Run(NotifierOptions options) {
    ASSERT_TRUE(log_->EnsureTopic("pitwall.issues", {3, false, -1}).ok());
    notifier_ = *Notifier::Make(&clock_, log_, {}, std::move(options));
    ASSERT_TRUE(notifier_->Start().ok());
    grpc_adapter::IssueServerOptions server;
    server.max_events_per_message = 5;
    server.bookmark_interval_ns = 50 * kNanosPerMilli;
    server_ = *grpc_adapter::IssueServer::Start(&clock_, notifier_.get(), server);
    grpc_adapter::IssueClientOptions client;
    client.target = Cat("127.0.0.1:", server_->port());
    client_ = *grpc_adapter::IssueClient::Make(client);
  }

  clock::SystemClock clock_;
  std::string dir_;
  std::unique_ptr<Log> log_holder_;
  Log* log_ = nullptr;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<grpc_adapter::IssueServer> server_;
  std::unique_ptr<grpc_adapter::IssueClient> client_;
};

INSTANTIATE_TEST_SUITE_P(Logs, GrpcWatchTest, ::testing::Values("Memory", "Embedded"),
                         [](const auto& which) { return which.param; });

TEST_P(GrpcWatchTest, RandomlyInterruptedWatchMissesNoEvent) {
  NotifierOptions options;
  options.window_events = 16;  // small, so that resumed watchers must read the log
  Run(options);
  const uint32_t seed = 4711;
  SCOPED_TRACE(seed);
  constexpr int kEvents = 2'000;
  std::set<std::string> published;
  std::vector<IssueEvent> events;
  for (int i = 0; i < kEvents; ++i) {
    events.push_back(MakeEvent(Cat("job-", i % 17), Cat("rule-", i), 1));
    published.insert(events.back().id);
  }
  std::string token = notifier_->ListIssues({})->resume_token;
  std::thread publisher([&] {
    for (int i = 0; i < kEvents; ++i) Publish(log_, events[static_cast<size_t>(i)], i % 3);
  });
  std::mt19937 random(seed);
  std::set<std::string> seen;
  std::vector<std::string> in_order;
  int cuts = 0;
  while (seen.size() < published.size()) {
    int left = 1 + static_cast<int>(random() % 20);
    WatchQuery query;
    query.resume_token = token;
    const Status status = client_->Watch(query, [&](const WatchBatch& batch) {
      for (const IssueEventPtr& event : batch.events) {
        seen.insert(event->id);
        in_order.push_back(event->id);
      }
      token = batch.resume_token;
      return --left > 0 && seen.size() < published.size();
    });
    // Either the client canceled the stream, or the server closed it because the client was slow.
    // The client resumes in both cases.
    ASSERT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted) << status;
    ++cuts;
  }
  publisher.join();
  EXPECT_EQ(seen, published);
  EXPECT_EQ(in_order.size(), published.size())
      << "a token is directly behind its event: no duplicates";
  EXPECT_GT(cuts, 10);
}

TEST_P(GrpcWatchTest, ListThenWatchMissesNoEvent) {
  Run({});
  const IssueEvent before = MakeEvent("a", "r", 1);
  Publish(log_, before, 0);
  const auto wakeup = clock_.NewWakeup();
  StatusOr<IssuePage> page = client_->List({});
  while (!page.ok() || page->issues.empty()) {
    wakeup->Wait(kNanosPerMilli);
    page = client_->List({});
  }
  const IssueEvent after = MakeEvent("a", "r", 2, EventType::kIssueUpdated);
  Publish(log_, after, 0);
  WatchQuery query;
  query.resume_token = page->resume_token;
  std::vector<std::string> seen;
  ASSERT_TRUE(client_
                  ->Watch(query,
                          [&](const WatchBatch& batch) {
                            for (const IssueEventPtr& event : batch.events)
                              seen.push_back(event->id);
                            return seen.empty();
                          })
                  .ok());
  EXPECT_THAT(seen, ::testing::ElementsAre(after.id));
  EXPECT_EQ(client_->Get(before.id)->size(), 2U);
  query.resume_token = "garbage";
  EXPECT_EQ(client_->Watch(query, [](const WatchBatch&) { return true; }).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(GrpcWatchTest, WatchUntilNowEndsAfterExistingEvents) {
  Run({});
  std::vector<std::string> want;
  for (int i = 0; i < 40; ++i) {
    const IssueEvent event = MakeEvent(Cat("j", i), "r", 1);
    Publish(log_, event, 0);
    want.push_back(event.id);
  }
  const auto wakeup = clock_.NewWakeup();
  StatusOr<IssuePage> page = client_->List({});
  while (!page.ok() || page->issues.size() < want.size()) {
    wakeup->Wait(kNanosPerMilli);
    page = client_->List({});
  }
  std::vector<std::string> seen;
  const WatchQuery query{.from_start = true, .until_now = true};
  // The stream ends even though the client did not cancel it.
  EXPECT_TRUE(client_
                  ->Watch(query,
                          [&](const WatchBatch& batch) {
                            for (const IssueEventPtr& event : batch.events)
                              seen.push_back(event->id);
                            return true;
                          })
                  .ok());
  EXPECT_EQ(seen, want);
}

TEST_P(GrpcWatchTest, IdleWatcherAdvancesByBookmarks) {
  Run({});
  std::vector<std::string> tokens;
  WatchQuery query;
  query.filter.job = "nobody";
  Publish(log_, MakeEvent("somebody", "r", 1), 0);
  ASSERT_TRUE(client_
                  ->Watch(query,
                          [&](const WatchBatch& batch) {
                            EXPECT_TRUE(batch.events.empty());
                            if (tokens.size() == 1)
                              Publish(log_, MakeEvent("somebody", "r", 2, EventType::kIssueUpdated),
                                      1);
                            tokens.push_back(batch.resume_token);
                            return tokens.size() < 4;
                          })
                  .ok());
  EXPECT_NE(tokens.front(), tokens.back());
}

TEST_P(GrpcWatchTest, StoppingNotifierEndsWatches) {
  Run({});
  const Status status = client_->Watch({}, [&](const WatchBatch&) {
    notifier_->Stop();
    return true;
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace pitwall::notifier
