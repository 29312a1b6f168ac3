// In-memory implementation of the log in services/io/io.h: deterministic, with fault injection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/io/io.h"

namespace pitwall::fakes {

// In-memory log. Thread-safe. Keeps every record until Drop or destruction. A Poll without records
// waits on a wake-up of `clock`: with a FakeClock, until a record arrives, Interrupt is called, or
// Advance passes its timeout. Has no compaction or retention. Readers, appenders, and committers
// share the state and may outlive the log.
class MemoryLog final : public Log {
 public:
  explicit MemoryLog(Clock* clock);

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override;
  StatusOr<int32_t> Partitions(std::string_view topic) override;
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override;
  StatusOr<std::unique_ptr<Appender>> OpenAppender() override;
  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) override;
  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override;
  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override;

  // Returns all existing records in offset order.
  std::vector<Record> Records(std::string_view topic, int32_t partition = 0) const;
  // Deletes the records before `offset`, as retention does.
  void Drop(std::string_view topic, int32_t partition, int64_t offset);
  // Deletes the topic's records and restarts at offset 0, as if the topic had been deleted and
  // recreated.
  void Recreate(std::string_view topic);
  // Deletes the records at and after `offset`, like a power loss without prior flushes.
  void Cut(std::string_view topic, int32_t partition, int64_t offset);
  // Leaves a gap of `count` offsets before the next record, like Kafka transactions.
  void SkipOffsets(std::string_view topic, int32_t partition, int64_t count);

  // Hook called before every write ("append", "commit", "store_position"). If it returns an error,
  // the write fails with that error and stores nothing. Called under the log's lock; must not call
  // back.
  using WriteFault = std::function<Status(std::string_view what)>;
  void SetWriteFault(WriteFault fault);
  // Sets the maximum value size. Larger values are rejected with InvalidArgument.
  void SetLargest(size_t bytes);
  // Makes the next `count` Polls of any reader fail with this status without reading.
  void FailPolls(int count, Status status);

  struct State;  // shared with the objects created by the log

 private:
  std::shared_ptr<State> state_;
};

}  // namespace pitwall::fakes
