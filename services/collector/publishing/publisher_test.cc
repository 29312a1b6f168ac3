#include "services/collector/publishing/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/model/value.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

class PublisherTest : public ::testing::Test {
 protected:
  void Start(bool spool, size_t queue_bytes = 1u << 20, uint64_t spool_bytes = 8u << 20) {
    PublisherOptions options;
    options.topic = "t";
    options.queue_bytes = queue_bytes;
    options.spool_bytes = spool_bytes;
    options.append_records = 4;
    if (spool) options.spool_dir = root_.At("spool");
    publisher_ = std::make_unique<Publisher>(options, clock_, &appender_, &counters_, &cursors_);
    ASSERT_TRUE(publisher_->Start().ok());
  }
  void Offer(int from, int to, size_t bytes = 0) {
    for (int i = from; i < to; ++i) publisher_->Offer("job", Cat(i, " ", std::string(bytes, 'x')));
  }
  // Returns the record numbers in the log without duplicates, as a processor would receive them.
  std::vector<int> Numbers() const {
    std::vector<int> numbers;
    for (const OutgoingRecord& record : appender_.records()) {
      EXPECT_EQ(record.topic, "t");
      EXPECT_EQ(record.key, "job");
      EXPECT_EQ(record.partition, kByKey);
      const int number = std::stoi(record.value);
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
    }
    return numbers;
  }
  static std::vector<int> Range(int from, int to) {
    std::vector<int> out;
    for (int i = from; i < to; ++i) out.push_back(i);
    return out;
  }
  // Advances the clock past the publisher's backoff until the log has `count` records.
  void AdvanceUntilRecords(size_t count) {
    while (appender_.records().size() < count) {
      clock_.AwaitWaiters(1);
      clock_.Advance(6 * kNanosPerSecond);
    }
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  std::unique_ptr<Publisher> publisher_;
};

// Waits for `count` distinct numbers and returns them in order of first arrival. If the log stores
// the records of a failed append, they arrive twice.
std::vector<int> AwaitNumbers(fakes::FakeAppender* appender, size_t count) {
  for (;;) {
    const std::vector<OutgoingRecord> records = appender->records();
    std::vector<int> numbers;
    for (const OutgoingRecord& record : records) {
      const int number = std::stoi(record.value);
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
    }
    if (numbers.size() >= count) return numbers;
    appender->AwaitRecords(records.size() + 1);
  }
}

TEST_F(PublisherTest, PublishesRecordsInOrder) {
  Start(false);
  Offer(0, 50);
  appender_.AwaitRecords(50);
  publisher_->Stop();
  EXPECT_EQ(Numbers(), Range(0, 50));
  EXPECT_EQ(counters_.records_published, 50u);
  EXPECT_EQ(counters_.queue_bytes, 0u);
  publisher_->Stop();
  publisher_->Offer("job", "late");
  EXPECT_EQ(counters_.dropped_at_stop, 1u);
}

TEST_F(PublisherTest, LogUnavailable_SpoolsAndCatchesUpInOrder) {
  for (size_t kept : {size_t{0}, size_t{2}}) {
    SCOPED_TRACE(kept);
    TestRoot root;
    fakes::FakeAppender appender;
    appender.Fail(-1, Unavailable("away"), kept);
    PublisherOptions options;
    options.topic = "t";
    options.spool_dir = root.At("spool");
    options.append_records = 4;
    Counters counters;
    Publisher publisher(options, clock_, &appender, &counters, &cursors_);
    ASSERT_TRUE(publisher.Start().ok());
    for (int i = 0; i < 10; ++i) publisher.Offer("job", Cat(i));
    appender.AwaitCalls(1);
    clock_.AwaitWaiters(1);
    for (int i = 10; i < 30; ++i) publisher.Offer("job", Cat(i));
    clock_.AwaitWaiters(1);
    clock_.Advance(kNanosPerSecond);
    appender.AwaitCalls(2);
    EXPECT_EQ(counters.spool_records, 30u);
    appender.Heal();
    clock_.AwaitWaiters(1);
    clock_.Advance(6 * kNanosPerSecond);
    AwaitNumbers(&appender, 30);
    publisher.Offer("job", "30");
    const std::vector<int> numbers = AwaitNumbers(&appender, 31);
    EXPECT_EQ(numbers, Range(0, 31));
    publisher.Stop();
    EXPECT_EQ(counters.spool_bytes, 0u);
  }
}

// Tests issue 26, F5.
TEST_F(PublisherTest, LogUnavailableForTenSeconds_IsUnhealthyUntilNextAppend) {
  appender_.Fail(-1, Unavailable("away"), 0);
  Start(false);
  Offer(0, 1);
  appender_.AwaitCalls(1);
  clock_.AwaitWaiters(1);
  EXPECT_TRUE(publisher_->Health().ok());
  clock_.Advance(Publisher::kUnhealthyNs);
  const Status health = publisher_->Health();
  EXPECT_TRUE(absl::IsUnavailable(health)) << health;
  EXPECT_NE(ToStd(health.message()).find("away"), std::string::npos) << health;
  appender_.Fail(0, OkStatus(), 0);
  AdvanceUntilRecords(1);
  clock_.AwaitWaiters(1);
  EXPECT_TRUE(publisher_->Health().ok());
  publisher_->Stop();
}

TEST_F(PublisherTest, FullQueue_IsSpooledBehindRecordsInFlight) {
  appender_.Cork();
  Start(true, 64u << 10);
  Offer(0, 1);
  appender_.AwaitCalls(1);  // record 0 is in flight
  Offer(1, 200, 1000);
  EXPECT_GT(counters_.spool_records, 100u);
  appender_.Uncork();
  appender_.AwaitRecords(200);
  publisher_->Stop();
  EXPECT_EQ(Numbers(), Range(0, 200));
  EXPECT_EQ(counters_.spool_records, 0u);
  EXPECT_EQ(appender_.records().size(), 200u);
}

TEST_F(PublisherTest, NoSpool_FullQueueDropsOldestRecords) {
  appender_.Fail(-1);
  Start(false, 64u << 10);
  Offer(0, 200, 1000);
  appender_.AwaitCalls(1);
  clock_.AwaitWaiters(1);
  appender_.Heal();
  const uint64_t dropped = counters_.dropped_queue_full;
  EXPECT_GT(dropped, 100u);
  clock_.Advance(kNanosPerSecond);
  appender_.AwaitRecords(200 - dropped);
  publisher_->Stop();
  EXPECT_EQ(Numbers(), Range(static_cast<int>(dropped), 200));
}

TEST_F(PublisherTest, Stop_LeavesRecordsOnDiskForNextStart) {
  appender_.Fail(-1);
  Start(true);
  Offer(0, 10);
  appender_.AwaitCalls(1);
  publisher_->Stop();
  EXPECT_EQ(counters_.dropped_at_stop, 0u);
  EXPECT_EQ(counters_.spool_records, 10u);
  appender_.Heal();
  Start(true);
  Offer(10, 15);
  appender_.AwaitRecords(15);
  publisher_->Stop();
  EXPECT_EQ(Numbers(), Range(0, 15));
}

// A broker's max.message.bytes may be far below Pitwall's own limits.
TEST_F(PublisherTest, BrokerRejectsLargeRecord_LaneContinues) {
  for (const bool spool : {true, false}) {
    SCOPED_TRACE(spool);
    appender_.SetLargest(2'000);
    Start(spool);
    const size_t before = appender_.records().size();
    const uint64_t dropped = counters_.dropped_refused;
    Offer(0, 1, 3'000);  // the record is alone in its append
    appender_.Cork();
    Offer(1, 3);
    Offer(3, 4, 3'000);  // the record is among other records
    Offer(4, 6);
    appender_.Uncork();
    AdvanceUntilRecords(before + 4);
    EXPECT_EQ(counters_.dropped_refused, dropped + 2);
    EXPECT_EQ(counters_.lanes_failing, 0u);
    const Status health = publisher_->Health();
    EXPECT_TRUE(absl::IsUnavailable(health)) << health;
    EXPECT_THAT(std::string(ToStd(health.message())), ::testing::HasSubstr("record too large"));
    clock_.Advance(Publisher::kShowRefusedNs);
    EXPECT_TRUE(publisher_->Health().ok());
    publisher_->Stop();
    publisher_.reset();
  }
  EXPECT_EQ(Numbers(), (std::vector<int>{1, 2, 4, 5}));
}

// A full disk is a temporary problem, so the records are retried.
TEST_F(PublisherTest, LogIsFull_KeepsRecords) {
  appender_.Fail(3, ResourceExhausted("no space left"));
  Start(true);
  Offer(0, 1, 1'000'000);
  AdvanceUntilRecords(1);
  EXPECT_EQ(counters_.dropped_refused, 0u);
  publisher_->Stop();
}

TEST_F(PublisherTest, RejectedRecord_DoesNotDelayOthers) {
  appender_.SetLargest(950'000);
  Start(true, 8u << 20, 64u << 20);
  appender_.Cork();
  Offer(0, 1);
  appender_.AwaitCalls(1);
  Offer(1, 3);
  Offer(3, 4, 1'000'000);
  Offer(4, 8);
  appender_.Uncork();
  AdvanceUntilRecords(7);
  publisher_->Stop();
  EXPECT_EQ(Numbers(), (std::vector<int>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(counters_.dropped_refused, 1u);
}

Batch Big(std::vector<int64_t>* times, std::vector<double>* values) {
  Batch batch;
  batch.job = "j";
  batch.source = "s";
  batch.boot_id = "b";
  batch.info.node = "n";
  batch.promise = EventTime::FromNs(100);
  Schema schema;
  schema.series = {{Labels({{kMetricName, "m"}}), SeriesKind::kGauge}};
  batch.schemas = {schema, Schema()};
  times->assign(100, 0);
  values->assign(100, 0);
  for (int i = 0; i < 20; ++i) batch.frames.push_back({1, *times, {}, {}, *values});
  for (int i = 0; i < 20; ++i)
    batch.spans.push_back(
        {Span::Kind::kPhase, "p", EventTime::FromNs(i), EventTime::FromNs(i + 1), kNoStep, ""});
  batch.events.resize(1);
  batch.step_promises = {{"train", 3}};
  batch.goodbye = true;
  return batch;
}

TEST(SplitBatch, OnlyLastPieceCarriesPromiseAndEvents) {
  std::vector<int64_t> times;
  std::vector<double> values;
  const auto whole = SplitBatch(Big(&times, &values), 50, 1u << 20);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].promise.ns(), 100);
  const auto pieces = SplitBatch(Big(&times, &values), 50, 5000);
  ASSERT_GT(pieces.size(), 5u);
  size_t frames = 0, spans = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    EXPECT_EQ(pieces[i].job, "j");
    EXPECT_EQ(pieces[i].info.node, "n");
    EXPECT_EQ(pieces[i].promise.ns(), last ? 100 : 50);
    EXPECT_EQ(pieces[i].goodbye, last);
    EXPECT_EQ(pieces[i].events.size(), last ? 1u : 0u);
    EXPECT_EQ(pieces[i].step_promises.size(), last ? 1u : 0u);
    EXPECT_EQ(pieces[i].schemas.size(), i == 0 ? 2u : 0u);
    frames += pieces[i].frames.size();
    spans += pieces[i].spans.size();
  }
  EXPECT_EQ(frames, 20u);
  EXPECT_EQ(spans, 20u);
}

}  // namespace
}  // namespace pitwall::collector
