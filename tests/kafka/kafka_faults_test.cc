// Faults that only a real broker exhibits: open or aborted transactions, deleted records, and
// misconfigured topics.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/kafka/kafka_fixture.h"
#include "tests/kafka/raw_client.h"

namespace pitwall::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using KafkaFaults = KafkaTest;

TEST_F(KafkaFaults, AbortedTransactionsAreInvisible) {
  const std::string topic = Topic("aborted");
  const std::string id = UniqueName("tx");
  RawTransaction transaction(id);
  transaction.Send(topic, 0, "aborted 1");
  transaction.Abort();
  transaction.Begin();
  transaction.Send(topic, 0, "committed");
  transaction.Commit();
  transaction.Begin();
  transaction.Send(topic, 0, "aborted 2");
  transaction.Send(topic, 0, "aborted 3");
  transaction.Abort();
  // The log ends with aborted records and their marker. The position must move past them.
  EXPECT_THAT(ReadAll({topic, 0}), ElementsAre("committed"));
}

TEST_F(KafkaFaults, OpenTransaction_EndOffsetDoesNotAdvance) {
  const std::string topic = Topic("open");
  Append({Out(topic, 0, "before")});
  RawTransaction transaction(UniqueName("tx"));
  transaction.Send(topic, 0, "open");
  Append({Out(topic, 0, "behind")});
  const auto reader = Reader({topic, 0});
  EXPECT_EQ(*reader->EndOffset(), 1) << "the last stable offset, not the last offset";
  EXPECT_THAT(ReadToEnd(reader.get()), ElementsAre("before"));
  const auto from_end = Reader({topic, 0}, kFromEnd);
  EXPECT_EQ(from_end->position(), 1);
  transaction.Commit();
  std::vector<Record> records;
  while (records.size() < 2) {
    ASSERT_TRUE(from_end->Poll(kMany, kManyBytes, kPatience, &records).ok());
    ASSERT_FALSE(records.empty());
  }
  EXPECT_EQ(records[0].value, "open");
  EXPECT_EQ(records[1].value, "behind");
  EXPECT_THAT(ReadToEnd(reader.get()), ElementsAre("open", "behind"));
}

TEST_F(KafkaFaults, PositionMovesPastMarkers) {
  const std::string topic = Topic("markers");
  const auto reader = Reader({topic, 0});
  auto committer = log_->OpenCommitter(UniqueName("tx"));
  ASSERT_TRUE(committer.ok()) << committer.status();
  for (int i = 0; i < 20; ++i) {
    Commit commit;
    commit.outputs = {Out(topic, 0, Cat(i))};
    const Status applied = (*committer)->Apply(commit);
    ASSERT_TRUE(applied.ok()) << applied;
    std::vector<Record> records;
    while (records.empty()) ASSERT_TRUE(reader->Poll(kMany, kManyBytes, kPatience, &records).ok());
    EXPECT_EQ(records[0].value, Cat(i));
    EXPECT_THAT(ReadToEnd(reader.get()), IsEmpty());  // the position must reach the end
    EXPECT_EQ(reader->position(), 2 * (i + 1)) << "a record and a marker each";
  }
}

TEST_F(KafkaFaults, DeletedRecords_AreReportedAsDataLoss) {
  const std::string topic = Topic("deleted");
  std::vector<OutgoingRecord> records;
  for (int i = 0; i < 10; ++i) records.push_back(Out(topic, 0, Cat(i)));
  Append(std::move(records));
  const auto reader = Reader({topic, 0}, 2);
  DeleteRecordsBefore(topic, 0, 6);
  EXPECT_EQ(*reader->StartOffset(), 6);
  const auto late = Reader({topic, 0}, 3);
  std::vector<Record> got;
  const Status lost = late->Poll(kMany, kManyBytes, kPatience, &got);
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss) << lost;
  EXPECT_THAT(Message(lost), HasSubstr("offsets 3 to 5 are lost"));
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(late->position(), 6);
  EXPECT_THAT(ReadToEnd(late.get()), ElementsAre("6", "7", "8", "9"));
}

TEST_F(KafkaFaults, PositionBeyondTheEnd_IsDataLoss) {
  const std::string topic = Topic("cut");
  Append({Out(topic, 0, "0"), Out(topic, 0, "1")});
  const auto reader = Reader({topic, 0}, 100);
  std::vector<Record> got;
  const Status lost = reader->Poll(kMany, kManyBytes, kPatience, &got);
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss) << lost;
  EXPECT_THAT(Message(lost), HasSubstr("offset 100 is after the end of the log, 2"));
  Append({Out(topic, 0, "2")});
  EXPECT_THAT(ReadToEnd(reader.get()), ElementsAre("2"));
}

TEST_F(KafkaFaults, RandomSeeksReadTheRequestedRecords) {
  const std::string topic = Topic("seeks");
  auto committer = log_->OpenCommitter(UniqueName("tx"));
  ASSERT_TRUE(committer.ok()) << committer.status();
  int value = 0;
  for (int i = 0; i < 30; ++i) {
    Commit commit;
    for (int k = 0; k < 1 + i % 4; ++k) commit.outputs.push_back(Out(topic, 0, Cat(value++)));
    ASSERT_TRUE((*committer)->Apply(commit).ok());
  }
  const auto reader = Reader({topic, 0});
  std::vector<Record> all;
  while (all.size() < static_cast<size_t>(value)) {
    ASSERT_TRUE(reader->Poll(kMany, kManyBytes, kPatience, &all).ok());
  }
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  const int64_t end = *reader->EndOffset();
  for (int i = 0; i < 60; ++i) {
    const int64_t target = std::uniform_int_distribution<int64_t>(0, end)(random);
    ASSERT_TRUE(reader->Seek(target).ok());
    ASSERT_EQ(reader->position(), target);
    // The seek happens either immediately, or with fetched records and a fetch in flight.
    if (random() % 3 == 0) continue;
    std::vector<std::string> expected;
    for (const Record& record : all) {
      if (record.offset >= target) expected.push_back(record.value);
    }
    if (random() % 2 == 0 && !expected.empty()) {
      std::vector<Record> one;
      while (one.empty()) ASSERT_TRUE(reader->Poll(1, kManyBytes, kPatience, &one).ok());
      ASSERT_EQ(one[0].value, expected.front()) << "after a seek to " << target;
    } else {
      ASSERT_EQ(ReadToEnd(reader.get()), expected) << "after a seek to " << target;
    }
  }
}

// When its queue is full, librdkafka pauses for a second unless it is woken. Reading 8 MB then
// takes about half a minute.
TEST_F(KafkaFaults, SmallReadAheadDoesNotStallReader) {
  const std::string topic = Topic("read_ahead");
  constexpr size_t kRecords = 800;
  std::mt19937 random(1);
  std::vector<OutgoingRecord> records;
  for (size_t i = 0; i < kRecords; ++i) {
    std::string noise(10'000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    records.push_back(Out(topic, 0, noise));
  }
  Append(std::move(records));
  KafkaLogOptions options = TestOptions();
  options.read_ahead_bytes = 256 << 10;
  const auto log = OpenTestLog(options);
  const auto reader = log->OpenReader({topic, 0}, kFromStart);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const int64_t start = TestClock()->MonotonicNs();
  std::vector<Record> got;
  while (got.size() < kRecords)
    ASSERT_TRUE((*reader)->Poll(kMany, kManyBytes, kPatience, &got).ok());
  EXPECT_LT(TestClock()->MonotonicNs() - start, 15 * kNanosPerSecond);
}

TEST_F(KafkaFaults, OversizedRecordIsRejectedWithLimit) {
  const std::string topic = Topic("large");
  const size_t size = static_cast<size_t>(TestOptions().max_record_bytes) + 1;
  auto appender = log_->OpenAppender();
  ASSERT_TRUE(appender.ok()) << appender.status();
  const Status refused = (*appender)->Append({Out(topic, 0, std::string(size, 'x'))});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(Message(refused), HasSubstr(Cat("the limit is ", TestOptions().max_record_bytes)));

  // The size is below Pitwall's limit but above the broker's.
  const std::string small = UniqueName("small");
  MakeTopic(small, 1, {{"max.message.bytes", "2000"}, {"message.timestamp.type", "LogAppendTime"}});
  std::string noise(10'000, '\0');  // does not compress
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  const Status by_broker = (*appender)->Append({Out(small, 0, noise)});
  EXPECT_EQ(by_broker.code(), absl::StatusCode::kInvalidArgument) << by_broker;
  EXPECT_THAT(Message(by_broker), HasSubstr(small));
  const Status after = (*appender)->Append({Out(small, 0, "fits")});
  EXPECT_TRUE(after.ok()) << after;

  auto committer = log_->OpenCommitter(UniqueName("tx"));
  ASSERT_TRUE(committer.ok()) << committer.status();
  Commit commit;
  commit.outputs = {Out(topic, 0, "with it"), Out(small, 0, noise)};
  const Status in_commit = (*committer)->Apply(commit);
  EXPECT_EQ(in_commit.code(), absl::StatusCode::kInvalidArgument) << in_commit;
  commit.outputs.pop_back();
  const Status again = (*committer)->Apply(commit);
  EXPECT_TRUE(again.ok()) << again;
  EXPECT_THAT(ReadAll({topic, 0}), ElementsAre("with it"));
  EXPECT_THAT(ReadAll({small, 0}), ElementsAre("fits"));
}

TEST_F(KafkaFaults, TopicWithoutLogAppendTimeIsRejected) {
  const std::string topic = UniqueName("create_time");
  MakeTopic(topic, 1, {{"message.timestamp.type", "CreateTime"}});
  for (const Status& status :
       {log_->EnsureTopic(topic, {}), log_->OpenReader({topic, 0}, kFromStart).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(Message(status), HasSubstr("message.timestamp.type=CreateTime"));
    EXPECT_THAT(Message(status), HasSubstr("--add-config"));
  }
  // Topics with other owners are accepted without this setting.
  KafkaLogOptions options = TestOptions();
  options.foreign_topics.push_back(topic);
  const auto log = OpenTestLog(options);
  EXPECT_TRUE(log->EnsureTopic(topic, {}).ok());
  EXPECT_TRUE(log->OpenReader({topic, 0}, kFromStart).ok());
}

TEST_F(KafkaFaults, CompactedTopicStaysCompacted) {
  const std::string topic = UniqueName("compacted");
  TopicConfig config;
  config.compacted = true;
  const Status made = log_->EnsureTopic(topic, config);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(log_->EnsureTopic(topic, config).ok());
  config.compacted = false;
  const Status other = log_->EnsureTopic(topic, config);
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition) << other;
  EXPECT_THAT(Message(other), HasSubstr("cleanup.policy=compact"));
}

TEST_F(KafkaFaults, AppendTimeIsFromBrokerClock) {
  const std::string topic = Topic("stamped");
  const int64_t before = TestClock()->WallNs();
  Append({Out(topic, 0, "x")});
  const int64_t after = TestClock()->WallNs();
  const auto reader = Reader({topic, 0});
  std::vector<Record> records;
  while (records.empty()) ASSERT_TRUE(reader->Poll(kMany, kManyBytes, kPatience, &records).ok());
  // Times are in milliseconds. The broker runs on this machine.
  EXPECT_GE(records[0].append_time.ns(), before - kNanosPerMilli);
  EXPECT_LE(records[0].append_time.ns(), after + kNanosPerMilli);
}

}  // namespace
}  // namespace pitwall::kafka
