#include "services/processor/partition_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "services/base/text/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"
#include "services/processor/testing/partition_fixture.h"

namespace pitwall::processor {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kRules[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: m > 0.5}
)rules";

class PartitionProcessorTest : public PartitionFixture {
 protected:
  PartitionProcessorTest() {
    Publish(kRules);
    EXPECT_TRUE(Open().ok());
  }

  size_t Ticks() {
    size_t ticks = 0;
    codec::BatchDecoder decoder;
    for (const Record& record : log_.Records(kTelemetryTopic)) {
      const auto decoded = decoder.Decode(record.value);
      ticks += decoded.ok() && decoded->control != nullptr &&
                       decoded->control->kind == ControlRecord::Kind::kClockTick
                   ? 1
                   : 0;
    }
    return ticks;
  }
  std::vector<Record> Dead() { return log_.Records(kDeadLetterTopic); }
};

// The clock advances far past the last commit, as it does while clock ticks are paused after an
// outage.
TEST_F(PartitionProcessorTest, NothingToCommit_WaitsForInput) {
  options_.clock_ticks = false;
  ASSERT_TRUE(Open().ok());
  Play("n sends m=1");
  Run(10);
  std::atomic<bool> done = false;
  std::thread round([&] {
    EXPECT_TRUE(owner_->RunOnce(Duration::Seconds(1)).ok());
    done = true;
  });
  while (!done && clock_.waiters() == 0) std::this_thread::yield();
  EXPECT_FALSE(done) << "a processor without work does not wait";
  clock_.Advance(kNanosPerSecond);
  round.join();
}

TEST_F(PartitionProcessorTest, UndecodableRecord_BecomesDeadLetter) {
  Append(kTelemetryTopic, "some-job", "\xff\xff garbage");
  Feed(5, 1);
  ASSERT_THAT(Dead(), SizeIs(1));
  EXPECT_EQ(Dead()[0].key, "some-job");
  EXPECT_EQ(Dead()[0].value, "\xff\xff garbage");
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("topic", "pitwall.telemetry")));
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("offset", "0")));
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("original_bytes", "10")));
  const std::vector<Record> issues = log_.Records(kIssuesTopic);
  EXPECT_THAT(issues, Contains(Field(&Record::value, HasSubstr("io.pitwall.issue.found"))));
}

TEST_F(PartitionProcessorTest, DeadLetterOfLargeRecordIsTruncated) {
  Append(kTelemetryTopic, "job", std::string(1'000'000, '\xff'));
  Run(2);
  ASSERT_THAT(Dead(), SizeIs(1));
  EXPECT_EQ(Dead()[0].value.size(), engine::kMaxDeadLetterBytes);
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("original_bytes", "1000000")));
}

TEST_F(PartitionProcessorTest, LogRejectsOversizedOutput_PartitionContinues) {
  log_.SetLargest(2'000);
  Play("n sends m=1");
  Run(2);
  const size_t issues = log_.Records(kIssuesTopic).size();
  ASSERT_GT(issues, 0u);
  // The dead letter for this record exceeds the maximum record size.
  log_.SetLargest(SIZE_MAX);
  Append(kTelemetryTopic, "some-job", std::string(5'000, '\xff'));
  log_.SetLargest(2'000);
  Play("n sends m=1");
  Run(3);
  ASSERT_THAT(Dead(), SizeIs(1));
  EXPECT_LE(Dead()[0].value.size(), 1'000u);
  EXPECT_EQ(Dead()[0].key, "some-job");
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("reason", HasSubstr("rejected by the log"))));
  EXPECT_THAT(Dead()[0].headers, Contains(Pair("original_bytes", "5000")));
  EXPECT_EQ(owner_->stats().commits.refused_outputs, 1u);
  EXPECT_THAT(owner_->stats().trouble, HasSubstr("1 record was dropped"));
}

TEST_F(PartitionProcessorTest, RecordWithManyBadFrames_BecomesOneDeadLetter) {
  const int64_t now[] = {clock_.WallNs()};
  const double values[] = {1};
  Batch batch;
  batch.job = "job";
  batch.source = "n";
  batch.boot_id = "b";
  batch.sequence = 1;
  batch.info.start = batch.promise = EventTime::FromNs(now[0]);
  for (uint64_t unknown = 17; unknown < 5017; ++unknown)
    batch.frames.push_back({.schema_id = unknown, .times = now, .values = values});
  std::string bytes;
  codec::BatchEncoder().Encode(batch, &bytes);
  Append(kTelemetryTopic, "job", bytes);
  Run(2);
  EXPECT_THAT(Dead(), SizeIs(1));
}

TEST_F(PartitionProcessorTest, ManyBadRecords_AreCommittedInSeveralTransactions) {
  for (int i = 0; i < 1000; ++i) Append(kTelemetryTopic, "job", "\xff bad");
  for (int i = 0; i < 40 && Dead().size() < 1000; ++i) {
    const size_t before = Dead().size();
    ASSERT_TRUE(owner_->RunOnce(Duration::Zero()).ok());
    EXPECT_LE(Dead().size(), before + 64);
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_EQ(Dead().size(), 1000U);
}

TEST_F(PartitionProcessorTest, ClockTicksPauseAfterLogOutage) {
  Run(5);
  const size_t before = Ticks();
  EXPECT_GE(before, 3U);
  // The processor detects an outage from failed reads as well as failed writes.
  log_.FailPolls(1, Unavailable("broker away"));
  clock_.Advance(kNanosPerSecond);
  ASSERT_FALSE(owner_->RunOnce(Duration::Zero()).ok());
  ASSERT_TRUE(owner_->Recover().ok());
  Run(12);
  EXPECT_EQ(Ticks(), before);
  Run(10);
  EXPECT_GT(Ticks(), before);
}

TEST_F(PartitionProcessorTest, MemoryExhausted_ReadingPausesWithoutLoss) {
  MemoryBudget budget(size_t{100} << 20);
  const auto other = budget.Open("something else");
  options_.memory = &budget;
  ASSERT_TRUE(Open().ok());
  Feed(5, 0);
  const int64_t offset = owner_->stats().commits.next_offset;
  ASSERT_GT(owner_->stats().jobs.memory_bytes, 0U);
  EXPECT_EQ(owner_->stats().trouble, "");
  other->Set(size_t{100} << 20, {});
  Run(1);  // later iterations must not read the records that are appended below
  const size_t ticks = Ticks();
  Feed(5, 1);
  EXPECT_TRUE(owner_->stats().paused);
  EXPECT_THAT(owner_->stats().trouble, HasSubstr("budget of 100 MiB"));
  EXPECT_THAT(owner_->stats().trouble, HasSubstr("job \"job\""));
  EXPECT_LE(owner_->stats().commits.next_offset, offset + 4);
  EXPECT_EQ(Ticks(), ticks) << "time does not advance, so a silent source does not expire";
  EXPECT_THAT(log_.Records(kIssuesTopic),
              Not(Contains(Field(&Record::value, HasSubstr("io.pitwall.issue.found")))));
  other->Set(0, {});
  Run(5);
  EXPECT_FALSE(owner_->stats().paused);
  EXPECT_EQ(owner_->stats().trouble, "");
  EXPECT_THAT(log_.Records(kIssuesTopic),
              Contains(Field(&Record::value, HasSubstr("io.pitwall.issue.found"))));
  EXPECT_GT(Ticks(), ticks);
  owner_.reset();  // the owner must be destroyed before the budget
}

TEST_F(PartitionProcessorTest, ReplayOffsetIsUnchangedWithoutNewRecords) {
  Feed(5, 0);
  ASSERT_TRUE(owner_->Finish().ok());
  const int64_t end = owner_->stats().commits.next_offset;
  EXPECT_GT(end, 5);
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(owner_->stats().replay_offset, LogOffset(end)) << "start " << start;
    ASSERT_TRUE(owner_->Finish().ok());
    EXPECT_EQ(owner_->stats().commits.next_offset, end);
  }
}

TEST_F(PartitionProcessorTest, UnreadableSnapshotFallsBackToOlderOne) {
  options_.snapshot_interval = Duration::Seconds(1);
  ASSERT_TRUE(Open().ok());
  Feed(6, 0);
  EXPECT_GE(owner_->stats().snapshots, 3U);
  const std::vector<Record> state = log_.Records(kStateTopic);
  const auto offset_of = [&](const Record& record) {
    codec::SnapshotAssembler assembler;
    return (*assembler.Add(record.value))->offset;
  };
  const Record& newest = state.back();
  // Simulates a newer version of Pitwall that has overwritten the newest slot at the same offset.
  const auto chunks =
      codec::SplitSnapshot("job", offset_of(newest), hash_, /*format=*/99, "of another version");
  Append(kStateTopic, newest.key, (*chunks)[0]);
  owner_.emplace(0, &clock_, &log_, &*rules_, options_);
  // The last commit is older than the overwritten snapshot, so L is the offset of the older
  // snapshot.
  ASSERT_TRUE(owner_->Recover().ok());
  EXPECT_EQ(owner_->stats().counters.restored_jobs, 1U);
  EXPECT_EQ(owner_->stats().jobs.count, 1U);
  // After both slots are overwritten, the job has no usable snapshot, and the error must name the
  // job.
  for (const char* key : {"0/job/0/0", "0/job/1/0"}) Append(kStateTopic, key, (*chunks)[0]);
  owner_.emplace(0, &clock_, &log_, &*rules_, options_);
  const Status recovered = owner_->Recover();
  EXPECT_THAT(std::string(recovered.message()), HasSubstr("snapshot has format 99"));
  EXPECT_THAT(std::string(recovered.message()), HasSubstr("no snapshot of job \"job\""));
}

}  // namespace
}  // namespace pitwall::processor
