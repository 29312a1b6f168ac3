// Contract tests for topics, appends, and reads.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/contract/log_contract.h"

namespace pitwall::contract {

void LinkLogContractRecords() {}

namespace {
// A wait is this long only if a wake-up or an interrupt is lost; the test then hangs until ctest
// stops it.
constexpr Duration kHour = Duration::Hours(1);

// Starts a thread that polls once. Both arguments must outlive the thread.
std::thread PollInThread(PartitionReader* reader, std::vector<Record>* got) {
  return std::thread([reader, got] {
    const Status polled = reader->Poll(10, size_t{1} << 20, kHour, got);
    EXPECT_TRUE(polled.ok()) << polled;
  });
}
}  // namespace

TEST_P(LogContract, RecordsOfPartitionArriveInOrder) {
  const std::string topic = Topic("order");
  std::vector<std::string> expected;
  for (int batch = 0; batch < 10; ++batch) {
    std::vector<OutgoingRecord> records;
    for (int i = 0; i < 20; ++i) {
      expected.push_back(Cat("v", batch, ".", i));
      records.push_back(Out(topic, 0, "key", expected.back()));
    }
    Append(std::move(records));
  }
  EXPECT_EQ(Values({topic, 0}, expected.size()), expected);
}

TEST_P(LogContract, RecordRoundTripsCompletely) {
  const std::string topic = Topic("whole");
  OutgoingRecord rich = Out(topic, 0, std::string("k\0\xff", 3), std::string("v\0\n\xfe", 4));
  rich.headers = {{"reason", "bad \xff bytes"}, {"empty", ""}, {"reason", "twice"}};
  OutgoingRecord empty = Out(topic, 0, "only a key", "");
  OutgoingRecord gone = Out(topic, 0, "gone", "");
  gone.tombstone = true;
  Append({rich, empty, gone});
  const auto reader = Reader({topic, 0});
  const std::vector<Record> got = Read(reader.get(), 3);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].key, rich.key);
  EXPECT_EQ(got[0].value, rich.value);
  EXPECT_EQ(got[0].headers, rich.headers);
  EXPECT_FALSE(got[0].tombstone);
  EXPECT_EQ(got[1].key, "only a key");
  EXPECT_EQ(got[1].value, "");
  EXPECT_FALSE(got[1].tombstone) << "an empty value is not a tombstone";
  EXPECT_TRUE(got[1].headers.empty());
  EXPECT_EQ(got[2].key, "gone");
  EXPECT_TRUE(got[2].tombstone);
  for (const Record& record : got) EXPECT_GT(record.append_time.ns(), 0);
}

TEST_P(LogContract, LargeRecordsAreAccepted) {
  const std::string topic = Topic("big");
  std::string big(under_test_->largest_value(), 'x');
  for (size_t i = 0; i < big.size(); i += 997) big[i] = static_cast<char>('a' + i % 26);
  Append({Out(topic, 0, "a", "small"), Out(topic, 0, "b", big), Out(topic, 0, "c", "after")});
  const std::vector<std::string> got = Values({topic, 0}, 3);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0], "small");
  EXPECT_TRUE(got[1] == big);
  EXPECT_EQ(got[2], "after");
}

TEST_P(LogContract, KeyedRecordsGoToPartitionOfKey) {
  constexpr int32_t kPartitions = 7;
  const std::string topic = Topic("keyed", kPartitions);
  std::vector<std::vector<std::string>> expected(kPartitions);
  std::vector<OutgoingRecord> records;
  for (int i = 0; i < 60; ++i) {
    const std::string key = Cat("job-", i);
    records.push_back(Out(topic, kByKey, key, key));
    expected[static_cast<size_t>(PartitionOf(key, kPartitions))].push_back(key);
  }
  Append(std::move(records));
  for (int32_t p = 0; p < kPartitions; ++p) {
    EXPECT_EQ(Values({topic, p}, expected[static_cast<size_t>(p)].size()),
              expected[static_cast<size_t>(p)]);
  }
}

TEST_P(LogContract, PartitionsAreIndependent) {
  constexpr int32_t kPartitions = 32;
  const std::string topic = Topic("many", kPartitions);
  std::vector<OutgoingRecord> records;
  for (int32_t p = 0; p < kPartitions; ++p) {
    for (int i = 0; i < 3; ++i) records.push_back(Out(topic, p, "k", Cat(p, "/", i)));
  }
  Append(std::move(records));
  for (int32_t p = 0; p < kPartitions; ++p) {
    const auto reader = Reader({topic, p});
    const std::vector<Record> got = Read(reader.get(), 3);
    ASSERT_EQ(got.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(got[static_cast<size_t>(i)].value, Cat(p, "/", i));
  }
}

TEST_P(LogContract, EmptyPartitionHasNoRecords) {
  const std::string topic = Topic("empty", 2);
  const auto reader = Reader({topic, 1});
  ASSERT_NE(reader, nullptr);
  const auto start = reader->StartOffset();
  const auto end = reader->EndOffset();
  ASSERT_TRUE(start.ok()) << start.status();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(*start, *end);
  ExpectNothing(reader.get());
}

TEST_P(LogContract, BeginAndEndOffsetsDelimitRecords) {
  const std::string topic = Topic("offsets");
  Append({Out(topic, 0, "k", "0"), Out(topic, 0, "k", "1"), Out(topic, 0, "k", "2")});
  const auto reader = Reader({topic, 0});
  const std::vector<Record> got = Read(reader.get(), 3);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_LE(*reader->StartOffset(), got[0].offset);
  EXPECT_GT(*reader->EndOffset(), got[2].offset);
  EXPECT_GT(reader->position(), got[2].offset);

  EXPECT_EQ(Values({topic, 0}, 2, got[1].offset), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(Values({topic, 0}, 1, got[1].offset + 1), (std::vector<std::string>{"2"}));
}

TEST_P(LogContract, SeekAcceptsAnyOffset) {
  const std::string topic = Topic("seek");
  std::vector<OutgoingRecord> records;
  for (int i = 0; i < 50; ++i) records.push_back(Out(topic, 0, "k", Cat(i)));
  Append(std::move(records));
  const auto reader = Reader({topic, 0});
  const std::vector<Record> all = Read(reader.get(), 50);
  ASSERT_EQ(all.size(), 50U);
  for (const size_t i : {size_t{17}, size_t{3}, size_t{49}, size_t{0}}) {
    ASSERT_TRUE(reader->Seek(all[i].offset).ok());
    EXPECT_EQ(reader->position(), all[i].offset);
    const std::vector<Record> got = Read(reader.get(), 1);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].offset, all[i].offset);
    EXPECT_EQ(got[0].value, all[i].value);
  }
  ASSERT_TRUE(reader->Seek(kFromEnd).ok());
  ExpectNothing(reader.get());
  Append({Out(topic, 0, "k", "new")});
  EXPECT_EQ(Read(reader.get(), 1).at(0).value, "new");
  ASSERT_TRUE(reader->Seek(kFromStart).ok());
  EXPECT_EQ(Read(reader.get(), 1).at(0).value, "0");
}

TEST_P(LogContract, ReaderFromEndSeesOnlyLaterRecords) {
  const std::string topic = Topic("from_end");
  Append({Out(topic, 0, "k", "old")});
  EXPECT_EQ(Values({topic, 0}, 1), (std::vector<std::string>{"old"}));
  const auto reader = Reader({topic, 0}, kFromEnd);
  ASSERT_NE(reader, nullptr);
  Append({Out(topic, 0, "k", "new")});
  EXPECT_EQ(Read(reader.get(), 1).at(0).value, "new");
}

TEST_P(LogContract, PollRespectsItsLimits) {
  const std::string topic = Topic("bounds");
  std::vector<OutgoingRecord> records;
  for (int i = 0; i < 10; ++i) records.push_back(Out(topic, 0, "k", std::string(1000, 'x')));
  Append(std::move(records));
  const auto reader = Reader({topic, 0});
  std::vector<Record> got;
  while (got.size() < 10) {
    const size_t before = got.size();
    ASSERT_TRUE(reader->Poll(3, size_t{1} << 20, under_test_->patience(), &got).ok());
    ASSERT_GT(got.size(), before) << "a poll with available records returns at least one";
    EXPECT_LE(got.size() - before, 3U);
  }
  // The byte limit is soft: at least one record is returned.
  ASSERT_TRUE(reader->Seek(got.front().offset).ok());
  std::vector<Record> one;
  ASSERT_TRUE(reader->Poll(10, 1, under_test_->patience(), &one).ok());
  EXPECT_GE(one.size(), 1U);
}

TEST_P(LogContract, EmptyPoll_PositionHasReachedEnd) {
  const std::string topic = Topic("at_end");
  const auto committer = NewCommitter(Cat("tx-", topic));
  Commit commit;
  commit.outputs = {Out(topic, 0, "k", "a"), Out(topic, 0, "k", "b")};
  ASSERT_TRUE(committer->Apply(commit).ok());
  const auto reader = Reader({topic, 0});
  ASSERT_EQ(Read(reader.get(), 2).size(), 2U);
  // The records may be followed by a hole (a transaction marker). An empty poll skips the hole.
  EXPECT_TRUE(Eventually([&] {
    const auto end = reader->EndOffset();
    EXPECT_TRUE(end.ok()) << end.status();
    ExpectNothing(reader.get());
    return reader->position() >= *end;
  }));
}

TEST_P(LogContract, AppendWakesBlockedPoll) {
  const std::string topic = Topic("woken");
  const auto reader = Reader({topic, 0});
  ASSERT_NE(reader, nullptr);
  std::vector<Record> got;
  std::thread poller = PollInThread(reader.get(), &got);
  Append({Out(topic, 0, "k", "hello")});
  poller.join();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].value, "hello");
}

TEST_P(LogContract, InterruptEndsBlockedPoll) {
  const std::string topic = Topic("interrupt");
  const auto reader = Reader({topic, 0});
  ASSERT_NE(reader, nullptr);
  std::vector<Record> got;
  std::thread poller = PollInThread(reader.get(), &got);
  reader->Interrupt();
  poller.join();
  EXPECT_TRUE(got.empty());
  // The reader still works after the error.
  Append({Out(topic, 0, "k", "after")});
  EXPECT_EQ(Read(reader.get(), 1).at(0).value, "after");
}

TEST_P(LogContract, InterruptBeforePollIsNotLost) {
  const std::string topic = Topic("interrupt_first");
  const auto reader = Reader({topic, 0});
  ASSERT_NE(reader, nullptr);
  reader->Interrupt();
  std::vector<Record> got;
  const Status polled = reader->Poll(10, size_t{1} << 20, kHour, &got);
  EXPECT_TRUE(polled.ok()) << polled;
  EXPECT_TRUE(got.empty());
}

TEST_P(LogContract, ConcurrentAppendsKeepAllRecordsAndThreadOrder) {
  constexpr int kThreads = 4;
  constexpr int kPerThread = 50;
  const std::string topic = Topic("concurrent");
  auto appender = log()->OpenAppender();
  ASSERT_TRUE(appender.ok()) << appender.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPerThread; ++i) {
        const Status appended = (*appender)->Append({Out(topic, 0, Cat(t), Cat(i))});
        EXPECT_TRUE(appended.ok()) << appended;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto reader = Reader({topic, 0});
  std::vector<int> next(kThreads, 0);
  for (const Record& record : Read(reader.get(), kThreads * kPerThread)) {
    const size_t t = static_cast<size_t>(*ParseInt(record.key));
    EXPECT_EQ(record.value, Cat(next[t]));
    ++next[t];
  }
  ExpectNothing(reader.get());
}

TEST_P(LogContract, TopicIsCreatedOnceAndKeepsItsPartitions) {
  const std::string topic = Topic("topics", 3);
  TopicConfig config;
  config.partitions = 3;
  EXPECT_TRUE(log()->EnsureTopic(topic, config).ok());
  EXPECT_EQ(*log()->Partitions(topic), 3);
  config.partitions = 4;
  const Status other = log()->EnsureTopic(topic, config);
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition) << other;
  EXPECT_EQ(*log()->Partitions(topic), 3);
}

TEST_P(LogContract, UnknownTopicsAndPartitionsAreErrors) {
  const std::string unknown = under_test_->UniqueTopic("unknown");
  EXPECT_EQ(log()->Partitions(unknown).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(log()->OpenReader({unknown, 0}, kFromStart).status().code(),
            absl::StatusCode::kNotFound);
  auto appender = log()->OpenAppender();
  ASSERT_TRUE(appender.ok()) << appender.status();
  EXPECT_EQ((*appender)->Append({Out(unknown, 0, "k", "v")}).code(), absl::StatusCode::kNotFound);

  const std::string topic = Topic("known", 2);
  EXPECT_FALSE(log()->OpenReader({topic, 2}, kFromStart).ok());
  EXPECT_FALSE(log()->OpenReader({topic, -1}, kFromStart).ok());
  EXPECT_FALSE((*appender)->Append({Out(topic, 2, "k", "v")}).ok());
}

TEST_P(LogContract, RecordsSurviveRestart) {
  const std::string topic = Topic("restart", 2);
  Append({Out(topic, 0, "k", "a"), Out(topic, 1, "k", "b")});
  int64_t offset = 0;
  int64_t time_ns = 0;
  {
    const auto reader = Reader({topic, 0});
    const std::vector<Record> got = Read(reader.get(), 1);
    ASSERT_EQ(got.size(), 1U);
    offset = got[0].offset;
    time_ns = got[0].append_time.ns();
  }
  Restart();
  EXPECT_EQ(*log()->Partitions(topic), 2);
  Append({Out(topic, 0, "k", "c")});
  const auto reader = Reader({topic, 0});
  const std::vector<Record> got = Read(reader.get(), 2);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].value, "a");
  EXPECT_EQ(got[0].offset, offset);
  EXPECT_EQ(got[0].append_time.ns(), time_ns);
  EXPECT_EQ(got[1].value, "c");
  EXPECT_EQ(Values({topic, 1}, 1), (std::vector<std::string>{"b"}));
}

}  // namespace pitwall::contract
