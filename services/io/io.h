// Interface of the log, used by everything above the adapters. The whole interface is in one file
// for readability.
//
// Two implementations exist: services/adapters/kafka (Apache Kafka) and
// services/adapters/embedded_log (segment files on local disk). The same contract tests
// (tests/contract) cover both. Both guarantee:
//  * Records of a partition are read in offset order. Offsets increase and may have gaps.
//  * All records of a transaction become visible together with its input offset, or never. Readers
//    see only committed records.
//  * append_time_ns is set by the log when the record is appended. Within a partition, the append
//    time decreases only if the machine's clock does, and by no more. The append time survives
//    export and import.
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

namespace pitwall {

inline constexpr int32_t kByKey = -1;
inline constexpr int64_t kFromStart = -2;  // OpenReader: oldest existing record
inline constexpr int64_t kFromEnd = -1;    // OpenReader: only records committed after the call

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Record {
  int64_t offset = 0;
  int64_t append_time_ns = 0;  // Kafka has millisecond resolution
  std::string key;
  std::string value;
  bool tombstone = false;  // no value: deletes the key in a compacted topic
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
  int64_t retention_ms = -1;  // -1: unlimited
};

struct CommittedOffset {
  int64_t offset = 0;    // the next record to read
  std::string metadata;  // the committer's metadata, opaque to the log
};

// Outputs and an input offset that become visible and durable together.
struct Commit {
  std::string group;
  TopicPartition input;
  int64_t next_offset = -1;  // first unprocessed input record; -1: commits outputs only
  std::string metadata;      // at most 4 KiB
  std::vector<OutgoingRecord> outputs;
};

// Reader of one partition, in offset order. Not thread-safe; each thread uses its own reader.
class PartitionReader {
 public:
  virtual ~PartitionReader() = default;
  // Appends committed records to `out`, waiting up to timeout_ns for the first one: at most
  // max_records and approximately max_bytes, but at least one record if available. OK without
  // records means that none arrived in time. DataLoss: records between the position and the next
  // readable one were lost (retention or damage). The message contains the offsets, and the next
  // call continues after them.
  virtual Status Poll(size_t max_records, size_t max_bytes, int64_t timeout_ns,
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
  // according to the log's configuration. After an error, some may be durable (retries are
  // at-least-once). InvalidArgument: the log permanently rejects at least one record (too large or
  // malformed); to find it, the caller appends the records one by one. ResourceExhausted: the disk
  // or queue is full; the same records may be accepted later.
  virtual Status Append(std::vector<OutgoingRecord> records) = 0;
};

// Commits outputs and an input offset in one transaction. Each input partition has one committer.
// Creating another committer with the same ID fences the first (its calls then fail with Aborted)
// and aborts its open transaction. Not thread-safe.
class Committer {
 public:
  virtual ~Committer() = default;
  // Begins and ends a transaction. On success, everything in the commit is visible, in the given
  // order per partition. On failure, nothing is visible and the caller may retry. InvalidArgument:
  // the log permanently rejects this commit because a record is too large or malformed. Aborted:
  // another owner fenced this committer, or (with Kafka, if the broker failed during the commit)
  // the outcome is unknown. This committer is then unusable: create a new one and check Committed()
  // before continuing.
  virtual Status Apply(const Commit& commit) = 0;
};

// Thread-safe.
class Log {
 public:
  virtual ~Log() = default;
  // Creates the topic if it does not exist. An existing topic must have the same number of
  // partitions; otherwise, the call fails with FailedPrecondition.
  virtual Status EnsureTopic(std::string_view topic, const TopicConfig& config) = 0;
  virtual StatusOr<int32_t> Partitions(std::string_view topic) = 0;  // fails with NotFound
  // Opens a reader. `from`: an offset, kFromStart, or kFromEnd.
  virtual StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                                int64_t from) = 0;
  virtual StatusOr<std::unique_ptr<Appender>> OpenAppender() = 0;
  virtual StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) = 0;
  // Returns the group's last committed position in the partition, or nothing.
  virtual StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                             const TopicPartition& at) = 0;
  // Stores a group's position without outputs, for readers whose outputs are not in the log
  // (notifier, insights).
  virtual Status StorePosition(std::string_view group, const TopicPartition& at,
                               const CommittedOffset& to) = 0;
};

}  // namespace pitwall
