// Interface of the log for everything above the adapters, in one file for readability.
//
// Two implementations: services/adapters/kafka (Apache Kafka) and services/adapters/embedded_log
// (segment files on local disk). The same contract tests (tests/contract) run over both. Guarantees
// of both:
//  * Records of one partition are read in the order of their offsets, which increase and may have
//    gaps.
//  * A transaction's records become visible together, with its input offset, or never. Readers see
//    committed records only.
//  * append_time_ns is set by the log when the record is appended and never decreases within a
//    partition by more than the machine's clock does; it survives export and import.
//  * Keyed records go to partition PartitionOf(key) (stable_hash.h) if the partition is kByKey.
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
  bool tombstone = false;  // a null value: deletes the key in a compacted topic
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
  std::string metadata;  // metadata of the committer, opaque to the log
};

// Outputs and input offset that one commit makes visible and durable together.
struct Commit {
  std::string group;
  TopicPartition input;
  int64_t next_offset = -1;  // first unprocessed input record; -1: commit outputs only
  std::string metadata;      // at most 4 KiB
  std::vector<OutgoingRecord> outputs;
};

// Reads one partition in order. Not thread-safe; one reader per thread.
class PartitionReader {
 public:
  virtual ~PartitionReader() = default;
  // Appends committed records to `out` (at most max_records, approximately max_bytes, and at least
  // one if there is one), waiting up to timeout_ns for the first. OK without records means that
  // none arrived in that time. DataLoss: records between the position and the next readable one
  // were deleted (retention, damage); the message contains the offsets, and the next call continues
  // after them.
  virtual Status Poll(size_t max_records, size_t max_bytes, int64_t timeout_ns,
                      std::vector<Record>* out) = 0;
  // Returns the offset that Poll reads next.
  virtual int64_t position() const = 0;
  virtual Status Seek(int64_t offset) = 0;  // also kFromStart and kFromEnd
  // Returns the first offset after the current last committed record.
  virtual StatusOr<int64_t> EndOffset() = 0;
  virtual StatusOr<int64_t> StartOffset() = 0;
  // Ends a waiting Poll. Called from any thread.
  virtual void Interrupt() = 0;
};

// Appends records without reading: collectors, rule publishing. Thread-safe.
class Appender {
 public:
  virtual ~Appender() = default;
  // Returns when every record is durable according to the log's configuration, in the given order
  // per partition; after an error, some may be (retries are at-least-once). InvalidArgument: the
  // log permanently rejects at least one of the records (too large, malformed); the caller appends
  // them one by one to find it. ResourceExhausted: disk or queue full; the same records may be
  // accepted later.
  virtual Status Append(std::vector<OutgoingRecord> records) = 0;
};

// Commits outputs and input offset in one transaction. One per input partition; creating a second
// one with the same ID fences the first (its calls then fail with Aborted) and aborts its open
// transaction. Not thread-safe.
class Committer {
 public:
  virtual ~Committer() = default;
  // On success everything in it is visible, in the given order per partition. On failure nothing
  // is, and the caller may retry. InvalidArgument: the log permanently rejects this commit, since
  // one of its records is too large or malformed. Aborted: fenced by another owner, or (Kafka, if
  // the broker failed during the commit) the result is unknown: this committer is unusable. Create
  // a new one and check Committed() before continuing. The transaction begins and ends within the
  // call.
  virtual Status Apply(const Commit& commit) = 0;
};

// Thread-safe.
class Log {
 public:
  virtual ~Log() = default;
  // Creates the topic if it does not exist. An existing one keeps its partitions
  // (FailedPrecondition if they differ).
  virtual Status EnsureTopic(std::string_view topic, const TopicConfig& config) = 0;
  virtual StatusOr<int32_t> Partitions(std::string_view topic) = 0;  // NotFound
  // `from`: an offset, kFromStart, or kFromEnd.
  virtual StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                                int64_t from) = 0;
  virtual StatusOr<std::unique_ptr<Appender>> OpenAppender() = 0;
  virtual StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) = 0;
  // Returns the last commit of the group for that partition, or nothing.
  virtual StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                             const TopicPartition& at) = 0;
  // Stores a group's position alone, for readers whose outputs are not in the log (notifier,
  // insights).
  virtual Status StorePosition(std::string_view group, const TopicPartition& at,
                               const CommittedOffset& to) = 0;
};

}  // namespace pitwall
