#include "services/notifier/delivery/delivery_queue.h"

#include <gtest/gtest.h>

#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

using Outcome = DeliveryQueue::Outcome;
constexpr int64_t kS = kNanosPerSecond;

DeliveryOptions Options() {
  DeliveryOptions o;
  o.name = "w";
  return o;
}

Verdict::Kind VerdictOf(int code) {
  return ClassifyHttp({.code = code, .retry_after = "", .text = "", .refused = {}}).kind;
}

Status Check(const DeliveryOptions& options, bool receiver = true) {
  return CheckReceiver(
      {.delivery = options,
       .receiver = receiver ? std::make_shared<WebhookReceiver>(WebhookTarget()) : nullptr});
}

FeedItem Item(std::string_view job, int64_t offset, int32_t partition = 0) {
  return {
      partition, offset,
      std::make_shared<const IssueEvent>(MakeEvent(job, "r", static_cast<uint64_t>(offset) + 1)),
      100};
}

TEST(DeliveryQueue, KeepsOrderWithinEachJob) {
  DeliveryQueue queue(Options(), {0}, 1);
  queue.Add(Item("a", 0), 0);
  queue.Add(Item("a", 1), 0);
  queue.Add(Item("b", 2), 0);
  queue.SetRead({3});
  DeliveryQueue::Entry* const first = queue.Due(0);
  EXPECT_EQ(first->item.offset, 0);
  EXPECT_EQ(queue.OnResult(first, VerdictOf(500), 0, 0), Outcome::kRetry);
  // The event at offset 1 belongs to the same job, so it must wait.
  DeliveryQueue::Entry* const second = queue.Due(0);
  if (second->item.offset != 0) {
    EXPECT_EQ(second->item.offset, 2);
    EXPECT_EQ(queue.OnResult(second, VerdictOf(204), 0, 0), Outcome::kDelivered);
  }
  EXPECT_EQ(queue.Delivered(), (Positions{0}))
      << "offsets after the first undelivered one do not count";
  DeliveryQueue::Entry* const again = queue.Due(10 * kS);
  EXPECT_EQ(again->item.offset, 0);
  EXPECT_EQ(queue.OnResult(again, VerdictOf(200), 0, 10 * kS), Outcome::kDelivered);
  EXPECT_EQ(queue.Delivered(), (Positions{1}));
  EXPECT_EQ(queue.OnResult(queue.Due(10 * kS), VerdictOf(200), 0, 10 * kS), Outcome::kDelivered);
}

TEST(DeliveryQueue, BackoffGrowsWithFullJitterUpToLimit) {
  DeliveryOptions options = Options();
  options.retry.breaker_failures = 1000;
  options.retry.give_up_after_ns = INT64_MAX;
  DeliveryQueue queue(options, {0}, 42);
  queue.Add(Item("a", 0), 0);
  int64_t now = 0, longest = 0, shortest = INT64_MAX;
  for (int attempt = 1; attempt <= 200; ++attempt) {
    DeliveryQueue::Entry* const entry = queue.Due(now);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(queue.OnResult(entry, VerdictOf(503), 0, now), Outcome::kRetry);
    const int64_t pause = *queue.NextAttemptNs() - now;
    const int64_t limit = attempt > 9 ? options.retry.max_backoff_ns
                                      : std::min(options.retry.max_backoff_ns, kS << (attempt - 1));
    EXPECT_LE(pause, limit) << attempt;
    if (attempt > 9) {
      longest = std::max(longest, pause);
      shortest = std::min(shortest, pause);
    }
    now += pause;
  }
  EXPECT_GT(longest, options.retry.max_backoff_ns * 9 / 10);
  EXPECT_LT(shortest, options.retry.max_backoff_ns / 10);
}

TEST(DeliveryQueue, RetryAfterPausesReceiver) {
  DeliveryQueue queue(Options(), {0}, 1);
  queue.Add(Item("a", 0), 0);
  queue.Add(Item("b", 1), 0);
  EXPECT_EQ(queue.OnResult(queue.Due(0), VerdictOf(429), 60 * kS, 0), Outcome::kRetry);
  EXPECT_EQ(queue.Due(59 * kS), nullptr);
  EXPECT_EQ(*queue.NextAttemptNs(), 60 * kS);
  EXPECT_NE(queue.Due(60 * kS), nullptr);
  EXPECT_FALSE(queue.breaker_open());
}

TEST(DeliveryQueue, OpenBreaker_TriesOneEventPerPause) {
  DeliveryOptions options = Options();
  options.retry.breaker_failures = 3;
  DeliveryQueue queue(options, {0}, 1);
  for (int i = 0; i < 10; ++i) queue.Add(Item(Cat("j", i), i), 0);
  for (int i = 0; i < 3; ++i) queue.OnResult(queue.Due(0), VerdictOf(0), 0, 0);
  EXPECT_TRUE(queue.breaker_open());
  EXPECT_EQ(queue.Due(options.retry.breaker_pause_ns - 1), nullptr);
  int64_t now = options.retry.breaker_pause_ns;
  queue.OnResult(queue.Due(now), VerdictOf(502), 0, now);
  EXPECT_EQ(queue.Due(now + options.retry.breaker_pause_ns - 1), nullptr);
  now += options.retry.breaker_pause_ns;
  EXPECT_EQ(queue.OnResult(queue.Due(now), VerdictOf(200), 0, now), Outcome::kDelivered);
  EXPECT_FALSE(queue.breaker_open());
  EXPECT_NE(queue.Due(now), nullptr);
}

TEST(DeliveryQueue, DeniedReceiver_RetriesRarelyAndKeepsEvents) {
  DeliveryQueue queue(Options(), {0}, 1);
  queue.Add(Item("a", 0), 0);
  DeliveryQueue::Entry* const entry = queue.Due(0);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(queue.OnResult(entry, Verdict::Kind::kDenied, 0, 0), DeliveryQueue::Outcome::kRetry);
  EXPECT_EQ(queue.Due(DeliveryQueue::kDeniedPauseNs - 1), nullptr);
  EXPECT_EQ(*queue.NextAttemptNs(), DeliveryQueue::kDeniedPauseNs);
  EXPECT_EQ(queue.Due(DeliveryQueue::kDeniedPauseNs), entry);
  EXPECT_EQ(queue.size(), 1U);
}

TEST(DeliveryQueue, GivesUpAfterTimeoutOrRejections) {
  DeliveryOptions options = Options();
  options.retry.give_up_after_ns = 100 * kS;
  DeliveryQueue queue(options, {0}, 1);
  queue.Add(Item("a", 0), 0);
  EXPECT_EQ(queue.OnResult(queue.Due(99 * kS), VerdictOf(500), 0, 99 * kS), Outcome::kRetry);
  DeliveryQueue::Entry* entry = queue.Due(200 * kS);
  EXPECT_EQ(queue.OnResult(entry, VerdictOf(500), 0, 200 * kS), Outcome::kGiveUp);
  EXPECT_EQ(queue.Delivered(), (Positions{0}));
  queue.Postpone(entry, 200 * kS);
  EXPECT_EQ(queue.size(), 1U);
  queue.Drop(entry);
  EXPECT_EQ(queue.size(), 0U);

  queue.Add(Item("a", 1), 0);
  int64_t now = 0;
  for (int i = 1; i < DeliveryQueue::kMaxRejections; ++i) {
    EXPECT_EQ(queue.OnResult(queue.Due(now), VerdictOf(422), 0, now), Outcome::kRetry);
    now = *queue.NextAttemptNs();
  }
  EXPECT_EQ(queue.OnResult(queue.Due(now), VerdictOf(422), 0, now), Outcome::kGiveUp);
  EXPECT_FALSE(queue.breaker_open()) << "a rejection is not a failure of the receiver";
}

TEST(DeliveryQueue, TracksPositionsPerPartition) {
  DeliveryQueue queue(Options(), {5, 100}, 1);
  queue.Add(Item("a", 7, 0), 0);
  queue.Add(Item("b", 103, 1), 0);
  queue.SetRead({9, 110});
  EXPECT_EQ(queue.Delivered(), (Positions{7, 103}));
  queue.OnResult(queue.Due(0), VerdictOf(200), 0, 0);
  EXPECT_EQ(queue.Delivered(), (Positions{9, 103}));
  EXPECT_EQ(queue.OnResult(queue.Due(0), VerdictOf(410), 0, 0), Outcome::kDisabled);
  EXPECT_EQ(queue.Delivered(), (Positions{9, 103}));
}

TEST(CheckReceiver, InvalidOption_IsNamedInError) {
  EXPECT_TRUE(Check(Options()).ok());
  DeliveryOptions o = Options();
  o.name = "a b";
  EXPECT_FALSE(Check(o).ok());
  EXPECT_FALSE(Check(Options(), false).ok());
  o = Options();
  o.retry.max_backoff_ns = 1;
  EXPECT_FALSE(Check(o).ok());
  o = Options();
  o.max_pending = 0;
  EXPECT_FALSE(Check(o).ok());
}

}  // namespace
}  // namespace pitwall::notifier
