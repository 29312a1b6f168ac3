// Tests for listing and watching issues.
#include "services/notifier/notifier.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration kLong = Duration::Hours(1);  // never expires, because the clock is fake

class NotifierTest : public ::testing::Test {
 protected:
  NotifierTest() { EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {2, false, -1}).ok()); }

  std::unique_ptr<Notifier> Run(NotifierOptions options = {}) {
    StatusOr<std::unique_ptr<Notifier>> notifier =
        Notifier::Make(&clock_, &log_, {}, std::move(options), &exposition_);
    EXPECT_TRUE(notifier.ok()) << notifier.status();
    const Status started = (*notifier)->Start();
    EXPECT_TRUE(started.ok()) << started;
    clock_.AwaitWaiters(2);  // both partitions have been read to the end
    EXPECT_TRUE((*notifier)->Ready());
    return *std::move(notifier);
  }

  static std::vector<std::string> Ids(const std::vector<IssueEventPtr>& events) {
    std::vector<std::string> ids;
    for (const IssueEventPtr& event : events) ids.push_back(event->id);
    return ids;
  }

  // Returns the IDs of the next `count` events and stores the last resume token.
  std::vector<std::string> Take(IssueWatch* watch, size_t count, std::string* token) {
    std::vector<std::string> ids;
    while (ids.size() < count) {
      const StatusOr<WatchBatch> batch = watch->Next(100, kLong);
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok()) break;
      for (const std::string& id : Ids(batch->events)) ids.push_back(id);
      *token = batch->resume_token;
    }
    return ids;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  self_metrics::Exposition exposition_;
};

TEST_F(NotifierTest, ListsExistingAndNewIssues) {
  Publish(&log_, MakeEvent("a", "r", 1), 0);
  Publish(&log_, MakeEvent("b", "r", 1, EventType::kIssueFound, "warning", 2000), 1);
  const auto notifier = Run();
  StatusOr<IssuePage> page = notifier->ListIssues({});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(Ids(page->issues),
              ElementsAre(MakeEvent("b", "r", 1, EventType::kIssueFound, "warning", 2000).id,
                          MakeEvent("a", "r", 1).id));
  EXPECT_EQ(page->next_page_token, "");
  // The token from the list resumes at the first event after the list.
  const IssueEvent ended = MakeEvent("a", "r", 2, EventType::kIssueResolved);
  Publish(&log_, ended, 0);
  auto watch = notifier->WatchIssues(
      {.filter = {}, .resume_token = page->resume_token, .from_start = false});
  ASSERT_TRUE(watch.ok()) << watch.status();
  std::string token;
  EXPECT_THAT(Take(watch->get(), 1, &token), ElementsAre(ended.id));
  page = notifier->ListIssues({});
  EXPECT_EQ(page->issues.size(), 1U);
  EXPECT_EQ(notifier->GetIssue(ended.id)->size(), 2U);
  EXPECT_EQ(notifier->GetIssue("nope").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(NotifierTest, AllPagesHaveTokenOfFirstPage) {
  for (int i = 0; i < 5; ++i)
    Publish(&log_, MakeEvent(Cat("j", i), "r", 1, EventType::kIssueFound, "warning", i), 0);
  const auto notifier = Run();
  IssueQuery query;
  query.page_size = 2;
  std::vector<std::string> jobs;
  std::string first_token;
  for (int pages = 0; pages < 3; ++pages) {
    const StatusOr<IssuePage> page = notifier->ListIssues(query);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const IssueEventPtr& issue : page->issues) jobs.push_back(issue->job);
    if (pages == 0) first_token = page->resume_token;
    EXPECT_EQ(page->resume_token, first_token);
    query.page_token = page->next_page_token;
    EXPECT_EQ(page->next_page_token.empty(), pages == 2);
  }
  EXPECT_THAT(jobs, ElementsAre("j4", "j3", "j2", "j1", "j0"));
  query.page_token = "garbage";
  EXPECT_EQ(notifier->ListIssues(query).status().code(), absl::StatusCode::kInvalidArgument);
  query.page_token = "";
  query.page_size = 1001;
  EXPECT_EQ(notifier->ListIssues(query).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NotifierTest, WatcherGetsCommittedEventsAndBookmarks) {
  Publish(&log_, MakeEvent("old", "r", 1), 0);
  const auto notifier = Run();
  auto watch = notifier->WatchIssues({});
  ASSERT_TRUE(watch.ok());
  StatusOr<WatchBatch> bookmark = (*watch)->Next(100, Duration::Zero());
  ASSERT_TRUE(bookmark.ok());
  EXPECT_THAT(bookmark->events, IsEmpty());
  EXPECT_NE(bookmark->resume_token, "");
  std::string token;
  const IssueEvent a = MakeEvent("a", "r", 1), b = MakeEvent("b", "r", 1);
  std::thread later([&] {
    clock_.AwaitWaiters(3);  // the watcher is now waiting
    Publish(&log_, a, 0);
    Publish(&log_, b, 1);
  });
  EXPECT_THAT(Take(watch->get(), 2, &token), ::testing::UnorderedElementsAre(a.id, b.id));
  later.join();
  // A token refers to the position directly after its event.
  const IssueEvent c = MakeEvent("c", "r", 1), d = MakeEvent("d", "r", 1);
  Publish(&log_, c, 0);
  Publish(&log_, d, 0);
  const StatusOr<WatchBatch> one = (*watch)->Next(1, kLong);
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(Ids(one->events), ElementsAre(c.id));
  auto resumed =
      notifier->WatchIssues({.filter = {}, .resume_token = one->resume_token, .from_start = false});
  EXPECT_THAT(Take(resumed->get(), 1, &token), ElementsAre(d.id));
}

TEST_F(NotifierTest, IdleWatcherGetsPeriodicBookmark) {
  const auto notifier = Run();
  auto watch = notifier->WatchIssues({});
  std::thread later([&] {
    clock_.AwaitWaiters(3);
    clock_.Advance(10 * kNanosPerSecond);
  });
  const StatusOr<WatchBatch> bookmark = (*watch)->Next(100, Duration::Seconds(10));
  later.join();
  ASSERT_TRUE(bookmark.ok());
  EXPECT_THAT(bookmark->events, IsEmpty());
}

TEST_F(NotifierTest, FiltersEventsOnServer) {
  const auto notifier = Run();
  auto watch = notifier->WatchIssues(
      {.filter = {.job = "b", .rule = "", .severity = "", .include_status = true},
       .resume_token = "",
       .from_start = false});
  auto plain = notifier->WatchIssues({});
  const IssueEvent status = MakeEvent("b", "r", 0, EventType::kRuleStatus),
                   found = MakeEvent("b", "r", 1);
  Publish(&log_, MakeEvent("a", "r", 1), 0);
  Publish(&log_, status, 0);
  Publish(&log_, found, 0);
  std::string token;
  EXPECT_THAT(Take(watch->get(), 2, &token), ElementsAre(status.id, found.id));
  EXPECT_THAT(Take(plain->get(), 2, &token), ElementsAre(MakeEvent("a", "r", 1).id, found.id));
}

TEST_F(NotifierTest, ResumesFromLogWithoutGaps) {
  NotifierOptions options;
  options.window_events = 4;
  const auto notifier = Run(options);
  auto watch = notifier->WatchIssues({});
  const std::string token = (*watch)->Next(1, Duration::Zero())->resume_token;
  std::vector<std::string> published;
  for (int i = 0; i < 50; ++i) {
    const IssueEvent event = MakeEvent(Cat("j", i), "r", 1);
    published.push_back(event.id);
    Publish(&log_, event, i % 2);
  }
  log_.SkipOffsets("pitwall.issues", 0, 3);
  clock_.AwaitWaiters(2);
  auto resumed = notifier->WatchIssues({.filter = {}, .resume_token = token, .from_start = false});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  std::string last;
  std::vector<std::string> seen;
  while (seen.size() < published.size()) {
    const StatusOr<WatchBatch> batch = (*resumed)->Next(7, kLong);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const std::string& id : Ids(batch->events)) seen.push_back(id);
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAreArray(published));
  // A watch from the start returns the same events and then continues with live events.
  auto whole = notifier->WatchIssues({.filter = {}, .resume_token = "", .from_start = true});
  EXPECT_THAT(Take(whole->get(), published.size(), &last),
              ::testing::UnorderedElementsAreArray(published));
  const IssueEvent live = MakeEvent("live", "r", 1);
  Publish(&log_, live, 0);
  EXPECT_THAT(Take(whole->get(), 1, &last), ElementsAre(live.id));
}

TEST_F(NotifierTest, SlowWatcherIsCanceledAndResumes) {
  NotifierOptions options;
  options.window_events = 4;
  const auto notifier = Run(options);
  auto watch = notifier->WatchIssues({});
  const std::string token = (*watch)->Next(1, Duration::Zero())->resume_token;
  for (int i = 0; i < 20; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1), 0);
  clock_.AwaitWaiters(2);
  const StatusOr<WatchBatch> cut = (*watch)->Next(100, kLong);
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kResourceExhausted);
  auto resumed = notifier->WatchIssues({.filter = {}, .resume_token = token, .from_start = false});
  std::string last;
  EXPECT_EQ(Take(resumed->get(), 20, &last).size(), 20U);
}

TEST_F(NotifierTest, WindowSizeIsLimitedInBytes) {
  NotifierOptions options;
  options.window_bytes = 2'000;  // only a few events fit
  const auto notifier = Run(options);
  auto watch = notifier->WatchIssues({});
  (void)(*watch)->Next(1, Duration::Zero());
  for (int i = 0; i < 20; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1), 0);
  clock_.AwaitWaiters(2);
  EXPECT_EQ((*watch)->Next(100, kLong).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(NotifierTest, RejectsOldFutureAndForeignTokens) {
  const auto notifier = Run([] {
    NotifierOptions options;
    options.window_events = 2;
    return options;
  }());
  auto watch = notifier->WatchIssues({});
  const std::string token = (*watch)->Next(1, Duration::Zero())->resume_token;
  for (int i = 0; i < 10; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1), 0);
  clock_.AwaitWaiters(2);
  const std::string ahead = notifier->ListIssues({})->resume_token;
  log_.Drop("pitwall.issues", 0, 5);
  const auto code = [&](std::string_view resume) {
    return notifier
        ->WatchIssues({.filter = {}, .resume_token = std::string(resume), .from_start = false})
        .status()
        .code();
  };
  EXPECT_EQ(code(token), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code("garbage"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(ahead), absl::StatusCode::kOk);
  // The token is ahead of the end of an empty log.
  fakes::MemoryLog other(&clock_);
  ASSERT_TRUE(other.EnsureTopic("pitwall.issues", {2, false, -1}).ok());
  const auto second = Notifier::Make(&clock_, &other, {}, {});
  ASSERT_TRUE((*second)->Start().ok());
  clock_.AwaitWaiters(4);
  EXPECT_EQ((*second)
                ->WatchIssues({.filter = {}, .resume_token = ahead, .from_start = false})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  // A running watch also reports deleted records.
  auto history = notifier->WatchIssues({.filter = {}, .resume_token = "", .from_start = true});
  log_.Drop("pitwall.issues", 0, 7);
  EXPECT_EQ((*history)->Next(100, kLong).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(NotifierTest, LimitsWatchers) {
  NotifierOptions options;
  options.max_watchers = 2;
  const auto notifier = Run(options);
  auto a = notifier->WatchIssues({});
  auto b = notifier->WatchIssues({});
  EXPECT_EQ(notifier->WatchIssues({}).status().code(), absl::StatusCode::kResourceExhausted);
  a->reset();
  EXPECT_TRUE(notifier->WatchIssues({}).ok());
}

TEST_F(NotifierTest, CancelAndStopEndWatch) {
  const auto notifier = Run();
  auto watch = notifier->WatchIssues({});
  auto other = notifier->WatchIssues({});
  std::thread canceller([&] {
    clock_.AwaitWaiters(3);
    (*watch)->Cancel();
  });
  EXPECT_EQ((*watch)->Next(1, kLong).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  std::thread stopper([&] {
    clock_.AwaitWaiters(3);
    notifier->Stop();
  });
  EXPECT_EQ((*other)->Next(1, kLong).status().code(), absl::StatusCode::kUnavailable);
  stopper.join();
  EXPECT_EQ(notifier->ListIssues({}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(notifier->WatchIssues({}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(NotifierTest, BadRecordsAndGapsAreCountedAndSkipped) {
  const auto notifier = Run();
  OutgoingRecord bad;
  bad.topic = "pitwall.issues";
  bad.partition = 0;
  bad.value = "garbage";
  ASSERT_TRUE((*log_.OpenAppender())->Append({bad}).ok());
  Publish(&log_, MakeEvent("a", "r", 1), 0);
  auto watch = notifier->WatchIssues({.filter = {}, .resume_token = "", .from_start = true});
  std::string token;
  EXPECT_EQ(Take(watch->get(), 1, &token).size(), 1U);
  EXPECT_THAT(exposition_.Render(), HasSubstr("pitwall_notifier_undecodable_total 1\n"));
  EXPECT_THAT(exposition_.Render(),
              HasSubstr("pitwall_issues_open{rule=\"r\",severity=\"warning\"} 1\n"));
  EXPECT_THAT(notifier->RenderIssueMetrics(),
              HasSubstr("pitwall_issue{alertname=\"A\",node=\"n1\",pitwall_job=\"a\",rule=\"r\","
                        "severity=\"warning\"} 1\n"));
  EXPECT_THAT(notifier->RenderIssueMetrics(), HasSubstr("pitwall_issues_truncated 0\n"));
}

TEST_F(NotifierTest, FailingLogIsReportedAndRetried) {
  const auto notifier = Run();
  log_.FailPolls(1, Unavailable("broker away"));
  Publish(&log_, MakeEvent("a", "r", 1), 0);
  // The poll of one partition fails, and the thread retries it after one second.
  clock_.AwaitWaiters(2);
  EXPECT_EQ(notifier->Health().code(), absl::StatusCode::kUnavailable);
  while (!notifier->Health().ok()) {
    clock_.AwaitWaiters(2);
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_EQ(notifier->ListIssues({})->issues.size(), 1U);
}

TEST_F(NotifierTest, ReadsOnlyTailOfLongTopic) {
  for (int i = 0; i < 30; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1), 0);
  NotifierOptions options;
  options.history_records = 10;
  const auto notifier = Run(options);
  EXPECT_EQ(notifier->ListIssues({})->issues.size(), 10U);
}

TEST_F(NotifierTest, RequiresTopicAndValidOptions) {
  NotifierOptions options;
  options.topic = "nowhere";
  EXPECT_EQ(Notifier::Make(&clock_, &log_, {}, options).status().code(),
            absl::StatusCode::kNotFound);
  options = {};
  WebhookOptions webhook;
  webhook.name = "w";
  webhook.url = "https://x/";
  options.receivers.push_back(ToReceiver(webhook));
  EXPECT_EQ(Notifier::Make(&clock_, &log_, {}, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  ScriptedTransport transport([](const HttpCall&, size_t) { return Reply(200); });
  EXPECT_TRUE(Notifier::Make(&clock_, &log_, {.http = &transport}, options).ok());
  options.receivers.push_back(options.receivers[0]);
  EXPECT_FALSE(Notifier::Make(&clock_, &log_, {.http = &transport}, options).ok());
}

}  // namespace
}  // namespace pitwall::notifier
