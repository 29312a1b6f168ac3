// Search for an offset by append time in one topic partition.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::history {

// Not thread-safe.
class OffsetSearch {
 public:
  // While `stop` is true, no call reads records. `stop` must outlive this object.
  static StatusOr<OffsetSearch> Open(Log* log, const TopicPartition& at,
                                     const std::atomic<bool>* stop);

  // Returns the first offset of the log.
  StatusOr<int64_t> StartOffset() { return reader_->StartOffset(); }
  // Returns the offset of the first record that was appended at or after `time_ns`, or the end of
  // the log if no record is that new.
  StatusOr<int64_t> OffsetAt(int64_t time_ns);

 private:
  OffsetSearch(std::unique_ptr<PartitionReader> reader, const std::atomic<bool>* stop)
      : reader_(std::move(reader)), stop_(*stop) {}

  std::unique_ptr<PartitionReader> reader_;
  const std::atomic<bool>& stop_;
};

}  // namespace pitwall::history
