// Log interface, used by everything above the adapters. The whole interface is in one file for
// readability.
//
// Two implementations exist: services/adapters/kafka (Apache Kafka) and
// services/adapters/embedded_log (segment files on local disk). The same contract tests
// (tests/contract) cover both. Both guarantee:
//  * Records of a partition are read in offset order. Offsets increase and may have gaps.
//  * All records of a transaction become visible together with its input offset, or never. Readers
//    see only committed records.
//  * append_time is set by the log when the record is appended. Within a partition, the append
//    time goes backward only if the machine's clock does, and by at most the same amount. The
//    append time survives export and import.
//  * Keyed records are routed to partition PartitionOf(key) (stable_hash.h) if their partition is
//    kByKey.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall {

inline constexpr int32_t kByKey = -1;
inline constexpr int64_t kFromStart = -2;  // OpenReader starts at the oldest existing record
inline constexpr int64_t kFromEnd = -1;    // OpenReader returns only records committed later

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Record {
  int64_t offset = 0;
  AppendTime append_time;  // Kafka has millisecond resolution
  std::string key;
  std::string value;
  bool tombstone = false;  // no value; deletes the key in a compacted topic
  Headers headers;
};

struct OutgoingRecord {
  std::string topic;
  int32_t partition = kByKey;
  std::string key;
  std::string value;
  bool tombstone = false;
  Headers headers;
};

struct TopicConfig {
  int32_t partitions = 1;
  bool compacted = false;     // keeps the newest record of each key
  int64_t retention_ms = -1;  // -1 means unlimited
};

struct CommittedOffset {
  int64_t offset = 0;    // the next record to read
  std::string metadata;  // the committer's metadata, opaque to the log
};

// Outputs and an input offset that become visible and durable together.
struct Commit {
  std::string group;
  TopicPartition input;
  int64_t next_offset = -1;  // first unprocessed input record; -1 commits only outputs
  std::string metadata;      // at most 4 KiB
  std::vector<OutgoingRecord> outputs;
};

// Reader for one partition, in offset order. Not thread-safe. Each thread must use its own reader.
class PartitionReader {
 public:
  virtual ~PartitionReader() = default;
  // Appends committed records to `out`, waiting up to `timeout` for the first one. Appends at most
  // max_records and approximately max_bytes, but at least one record if one is available. OK
  // without records means that no record arrived in time. Returns DataLoss if records between the
  // position and the next readable record were lost (retention or damage). The message contains the
  // offsets of the lost records, and the next call continues after them.
  virtual Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
                      std::vector<Record>* out) = 0;
  // Returns the offset that Poll reads next.
  virtual int64_t position() const = 0;
  virtual Status Seek(int64_t offset) = 0;  // also kFromStart and kFromEnd
  // Returns the offset after the last committed record.
  virtual StatusOr<int64_t> EndOffset() = 0;
  virtual StatusOr<int64_t> StartOffset() = 0;
  // Unblocks a waiting Poll. May be called from any thread.
  virtual void Interrupt() = 0;
};

// Appender without an input offset, used by collectors and for publishing rules. Thread-safe.
class Appender {
 public:
  virtual ~Appender() = default;
  // Appends the records in the given order per partition and returns when all of them are durable
  // according to the log's configuration. After an error, some of them may be durable (retries are
  // at-least-once). Returns InvalidArgument if the log permanently rejects at least one record (too
  // large or malformed). To find that record, append the records one by one. Returns
  // ResourceExhausted if the disk or queue is full. The log may accept the same records later.
  virtual Status Append(std::vector<OutgoingRecord> records) = 0;
};

// Commits outputs and an input offset in one transaction. Each input partition has one committer.
// Creating another committer with the same ID fences the previous one (its calls then fail with
// Aborted) and aborts its open transaction. Not thread-safe.
class Committer {
 public:
  virtual ~Committer() = default;
  // Begins and ends a transaction. On success, everything in the commit is visible, in the given
  // order per partition. On failure, nothing is visible and the caller may retry. Returns
  // InvalidArgument if the log permanently rejects this commit because a record is too large or
  // malformed. Returns Aborted if another owner fenced this committer, or if the outcome is unknown
  // (with Kafka, after a broker failure during the commit). This committer is then unusable: create
  // a new one and check Committed() before continuing.
  virtual Status Apply(const Commit& commit) = 0;
};

// Thread-safe.
class Log {
 public:
  virtual ~Log() = default;
  // Creates the topic if it does not exist. Returns FailedPrecondition if the topic exists with a
  // different number of partitions.
  virtual Status EnsureTopic(std::string_view topic, const TopicConfig& config) = 0;
  virtual StatusOr<int32_t> Partitions(std::string_view topic) = 0;  // fails with NotFound
  // Opens a reader. `from` is an offset, kFromStart, or kFromEnd.
  virtual StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                                int64_t from) = 0;
  virtual StatusOr<std::unique_ptr<Appender>> OpenAppender() = 0;
  virtual StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) = 0;
  // Returns the group's last committed position in the partition, or nullopt.
  virtual StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                             const TopicPartition& at) = 0;
  // Stores a group's position without outputs. Used by readers that do not write their outputs to
  // the log (notifier, insights).
  virtual Status StorePosition(std::string_view group, const TopicPartition& at,
                               const CommittedOffset& to) = 0;
};

}  // namespace pitwall
