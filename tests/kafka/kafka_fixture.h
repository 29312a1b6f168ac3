// Fixture for the Kafka tests outside the contract suite: opens a log, creates topics, and reads to
// the end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/kafka/broker_under_test.h"

namespace pitwall::kafka {

inline constexpr size_t kMany = 1000;
inline constexpr size_t kManyBytes = 8 << 20;
inline constexpr Duration kPatience = Duration::Seconds(30);

inline OutgoingRecord Out(const std::string& topic, int32_t partition, std::string_view value) {
  OutgoingRecord record;
  record.topic = topic;
  record.partition = partition;
  record.key = "k";
  record.value = value;
  return record;
}

inline void Pause(int64_t ns) { TestClock()->NewWakeup()->Wait(ns); }

inline std::string Message(const Status& status) { return status.ToString(); }

class KafkaTest : public ::testing::Test {
 protected:
  std::string Topic(std::string_view hint, int32_t partitions = 1) {
    std::string topic = UniqueName(hint);
    TopicConfig config;
    config.partitions = partitions;
    const Status made = log_->EnsureTopic(topic, config);
    EXPECT_TRUE(made.ok()) << made;
    return topic;
  }

  void Append(std::vector<OutgoingRecord> records) {
    auto appender = log_->OpenAppender();
    ASSERT_TRUE(appender.ok()) << appender.status();
    const Status appended = (*appender)->Append(std::move(records));
    ASSERT_TRUE(appended.ok()) << appended;
  }

  std::unique_ptr<PartitionReader> Reader(const TopicPartition& at, int64_t from = kFromStart) {
    auto reader = log_->OpenReader(at, from);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  // Reads until the position reaches the log's end. Fails the test on timeout.
  static std::vector<std::string> ReadToEnd(PartitionReader* reader) {
    std::vector<Record> records;
    const int64_t deadline = TestClock()->MonotonicNs() + kPatience.ns();
    for (;;) {
      const auto end = reader->EndOffset();
      EXPECT_TRUE(end.ok()) << end.status();
      if (!end.ok() || reader->position() >= *end) {
        if (end.ok()) {
          EXPECT_EQ(reader->position(), *end);
        }
        break;
      }
      const Status polled = reader->Poll(kMany, kManyBytes, Duration::Millis(100), &records);
      EXPECT_TRUE(polled.ok()) << polled;
      if (!polled.ok() || TestClock()->MonotonicNs() > deadline) {
        ADD_FAILURE() << "at " << reader->position() << ", the end is " << *end;
        break;
      }
    }
    std::vector<std::string> values;
    for (Record& record : records) values.push_back(std::move(record.value));
    return values;
  }
  std::vector<std::string> ReadAll(const TopicPartition& at) { return ReadToEnd(Reader(at).get()); }

  // Reads until `count` records other than `ignored` have arrived, even if outages occur. A commit
  // becomes visible with a delay.
  static std::vector<std::string> ReadValues(PartitionReader* reader, size_t count,
                                             std::string_view ignored) {
    std::vector<std::string> values;
    const int64_t deadline = TestClock()->MonotonicNs() + kPatience.ns();
    while (values.size() < count && TestClock()->MonotonicNs() < deadline) {
      std::vector<Record> records;
      const Status polled = reader->Poll(kMany, kManyBytes, Duration::Millis(100), &records);
      EXPECT_TRUE(polled.ok() || absl::IsUnavailable(polled)) << polled;
      for (Record& record : records) {
        if (record.value != ignored) values.push_back(std::move(record.value));
      }
    }
    return values;
  }

  // Retries the operation while it returns Unavailable.
  template <typename F>
  static Status Persist(const F& attempt) {
    const int64_t deadline = TestClock()->MonotonicNs() + kPatience.ns();
    for (;;) {
      Status status = attempt();
      if (!absl::IsUnavailable(status) || TestClock()->MonotonicNs() > deadline) return status;
      Pause(50 * kNanosPerMilli);
    }
  }

  std::unique_ptr<Log> log_ = OpenTestLog();
};

}  // namespace pitwall::kafka
