#include "tests/contract/log_contract.h"

#include <utility>

#include "services/adapters/clock/system_clock.h"

namespace pitwall::contract {
namespace {
constexpr Duration kPoll = Duration::Millis(200);
constexpr size_t kManyRecords = 1000;
constexpr size_t kManyBytes = size_t{8} << 20;
}  // namespace

void LogContract::SetUp() {
  under_test_ = GetParam().make();
  ASSERT_NE(under_test_, nullptr);
  const Status opened = under_test_->Open();
  ASSERT_TRUE(opened.ok()) << opened;
}

void LogContract::Restart() {
  const Status restarted = under_test_->Restart();
  ASSERT_TRUE(restarted.ok()) << restarted;
}

std::string LogContract::Topic(std::string_view hint, int32_t partitions, bool compacted) {
  std::string name = under_test_->UniqueTopic(hint);
  TopicConfig config;
  config.partitions = partitions;
  config.compacted = compacted;
  const Status made = log()->EnsureTopic(name, config);
  EXPECT_TRUE(made.ok()) << made;
  return name;
}

OutgoingRecord LogContract::Out(std::string_view topic, int32_t partition, std::string_view key,
                                std::string_view value) {
  OutgoingRecord record;
  record.topic = topic;
  record.partition = partition;
  record.key = key;
  record.value = value;
  return record;
}

void LogContract::Append(std::vector<OutgoingRecord> records) {
  auto appender = log()->OpenAppender();
  ASSERT_TRUE(appender.ok()) << appender.status();
  const Status appended = (*appender)->Append(std::move(records));
  ASSERT_TRUE(appended.ok()) << appended;
}

std::unique_ptr<PartitionReader> LogContract::Reader(const TopicPartition& at, int64_t from) {
  auto reader = log()->OpenReader(at, from);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

std::unique_ptr<Committer> LogContract::NewCommitter(std::string_view id) {
  auto committer = log()->OpenCommitter(id);
  EXPECT_TRUE(committer.ok()) << committer.status();
  return committer.ok() ? *std::move(committer) : nullptr;
}

std::vector<Record> LogContract::Read(PartitionReader* reader, size_t count) {
  std::vector<Record> records;
  if (reader == nullptr) return records;
  for (Duration waited; records.size() < count && waited < under_test_->patience();) {
    const size_t before = records.size();
    const Status polled = reader->Poll(count - before, kManyBytes, kPoll, &records);
    EXPECT_TRUE(polled.ok()) << polled;
    if (!polled.ok()) break;
    if (records.size() == before) waited += kPoll;
  }
  EXPECT_EQ(records.size(), count) << "records missing after waiting";
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_GT(records[i].offset, records[i - 1].offset);
    EXPECT_GE(records[i].append_time, records[i - 1].append_time);
  }
  return records;
}

std::vector<std::string> LogContract::Values(const TopicPartition& at, size_t count, int64_t from) {
  const auto reader = Reader(at, from);
  std::vector<std::string> values;
  if (reader == nullptr) return values;
  for (Record& record : Read(reader.get(), count)) values.push_back(std::move(record.value));
  ExpectNothing(reader.get());
  return values;
}

void LogContract::ExpectNothing(PartitionReader* reader) {
  std::vector<Record> records;
  const Status polled = reader->Poll(kManyRecords, kManyBytes, under_test_->silence(), &records);
  EXPECT_TRUE(polled.ok()) << polled;
  EXPECT_TRUE(records.empty()) << "first of " << records.size() << " unexpected records: offset "
                               << records.front().offset << " value "
                               << records.front().value.substr(0, 100);
}

bool LogContract::Eventually(const std::function<bool()>& predicate) {
  clock::SystemClock clock;
  const auto pause = clock.NewWakeup();
  const int64_t deadline = clock.MonotonicNs() + under_test_->patience().ns();
  while (!predicate()) {
    if (clock.MonotonicNs() > deadline) return false;
    pause->Wait(10 * kNanosPerMilli);
  }
  return true;
}

void LogContract::ExpectCommitted(std::string_view group, const TopicPartition& at, int64_t offset,
                                  std::string_view metadata) {
  StatusOr<std::optional<CommittedOffset>> last = std::optional<CommittedOffset>();
  EXPECT_TRUE(Eventually([&] {
    last = log()->Committed(group, at);
    return last.ok() && last->has_value() && (*last)->offset == offset;
  }));
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_TRUE(last->has_value());
  EXPECT_EQ((*last)->offset, offset);
  EXPECT_EQ((*last)->metadata, metadata);
}

}  // namespace pitwall::contract
