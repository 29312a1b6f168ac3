// The log, as everything above the adapters sees it. One file, so that the seam can be read at
// once.
//
// Two implementations: services/adapters/kafka (Apache Kafka) and services/adapters/embedded_log
// (segment files on local disk). The same contract tests (tests/contract) run over both. Promises
// common to both:
//  * Appends to one partition are read in the order of their offsets; offsets grow but may have
//  holes.
//  * A transaction's records become visible together, with its input offset, or never. Readers see
//  committed records only.
//  * append_time_ns is set by the log when the record is appended and never goes back within a
//  partition by more than
//    the machine's clock does; it survives export and import.
//  * Keyed records go to partition PartitionOf(key) (stable_hash.h) when the partition is kByKey.
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
inline constexpr int64_t kFromStart = -2;  // OpenReader: oldest record still there
inline constexpr int64_t kFromEnd = -1;    // OpenReader: only what is committed after the call

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Record {
  int64_t offset = 0;
  int64_t append_time_ns = 0;  // Kafka keeps milliseconds
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
  int64_t retention_ms = -1;  // -1: for ever
};

struct CommittedOffset {
  int64_t offset = 0;    // the next record to read
  std::string metadata;  // whatever the committer put beside it
};

// What one commit makes visible and durable at once.
struct Commit {
  std::string group;
  TopicPartition input;
  int64_t next_offset = -1;  // first input record not yet consumed; -1: commit outputs only
  std::string metadata;      // at most 4 KiB
  std::vector<OutgoingRecord> outputs;
};

// Reads one partition in order. Not thread-safe; one reader per thread.
class PartitionReader {
 public:
  virtual ~PartitionReader() = default;
  // Appends committed records to `out` (at most max_records, softly max_bytes; always at least one
  // if there is one), waiting up to timeout_ns for the first. OK with nothing appended means: no
  // record in that time. DataLoss: records between the position and the next readable one are gone
  // (retention, damage); the message names the offsets and the reader has moved on, so the next
  // call reads what is there.
  virtual Status Poll(size_t max_records, size_t max_bytes, int64_t timeout_ns,
                      std::vector<Record>* out) = 0;
  // The offset that Poll reads next.
  virtual int64_t position() const = 0;
  virtual Status Seek(int64_t offset) = 0;  // takes kFromStart and kFromEnd
  // First offset after the last committed record at this moment ("the end that the log has now").
  virtual StatusOr<int64_t> EndOffset() = 0;
  virtual StatusOr<int64_t> StartOffset() = 0;
  // Ends a Poll that waits, from any thread.
  virtual void Interrupt() = 0;
};

// Appends without reading: collectors, the rule feeder. Thread-safe.
class Appender {
 public:
  virtual ~Appender() = default;
  // Returns when every record is durable as the log's configuration understands it, in the order
  // given per partition; on error some may be (retrying is at-least-once). InvalidArgument: the log
  // never takes at least one of the records (too large, malformed); the caller appends them one by
  // one to find it. ResourceExhausted: disk or queue full; the same records may be taken later.
  virtual Status Append(std::vector<OutgoingRecord> records) = 0;
};

// Outputs and input offset in one transaction. One per input partition; making a second one with
// the same id fences the first (its calls then fail with Aborted) and aborts what it left open. Not
// thread-safe.
class Committer {
 public:
  virtual ~Committer() = default;
  // On success everything in it is visible, in the order given per partition. On failure nothing
  // is, and the caller may try again. InvalidArgument: the log never takes this commit, since one
  // of its records is too large or malformed. Aborted: fenced by another owner, or (Kafka, when the
  // broker went away in the middle) it is not known whether it was done: this committer is of no
  // use any more. Open a new one and look at Committed() before going on. The transaction is opened
  // and closed inside the call.
  virtual Status Apply(const Commit& commit) = 0;
};

// Thread-safe.
class Log {
 public:
  virtual ~Log() = default;
  // Makes the topic when it is not there. An existing one keeps its partitions (FailedPrecondition
  // when they differ).
  virtual Status EnsureTopic(std::string_view topic, const TopicConfig& config) = 0;
  virtual StatusOr<int32_t> Partitions(std::string_view topic) = 0;  // NotFound
  // `from`: an offset, kFromStart or kFromEnd.
  virtual StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                                int64_t from) = 0;
  virtual StatusOr<std::unique_ptr<Appender>> OpenAppender() = 0;
  virtual StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) = 0;
  // What the group committed last for that partition; nothing when it never did.
  virtual StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                             const TopicPartition& at) = 0;
  // Stores a group's position alone, for readers whose outputs are not in the log (notifier,
  // insights).
  virtual Status StorePosition(std::string_view group, const TopicPartition& at,
                               const CommittedOffset& to) = 0;
};

}  // namespace pitwall
