// Records of one topic partition that were read but not yet encoded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::history {

// Queue in front of a partition's reader. Only one thread may use it, except for Interrupt.
class RecordQueue {
 public:
  // While `stop` is true, no call waits for records. `stop` must outlive this object.
  RecordQueue(TopicPartition at, const std::atomic<bool>* stop)
      : at_(std::move(at)), stop_(*stop) {}

  // Opens the reader.
  Status Open(Log* log);
  void Close() { reader_ = nullptr; }
  bool open() const { return reader_ != nullptr; }
  // Interrupts a waiting Read. May be called from any thread.
  void Interrupt();

  // Returns the first offset of the log.
  StatusOr<int64_t> StartOffset() { return reader_->StartOffset(); }
  // Returns the offset after the last record of the log.
  StatusOr<int64_t> EndOffset() { return reader_->EndOffset(); }
  // Returns the offset of the first record that was appended at or after `time_ns`. Afterward, the
  // caller must call Seek.
  StatusOr<int64_t> OffsetAt(int64_t time_ns);
  Status Seek(int64_t offset) { return reader_->Seek(offset); }
  // Adds records to the queue. Returns DataLoss if the log has lost records that precede the added
  // records.
  Status Read(size_t max_records, size_t max_bytes, Duration timeout);

  bool empty() const { return records_.empty(); }
  const Record& front() const { return records_.front(); }
  Record Pop();
  // Returns the offset of the first record that Pop has not returned yet.
  int64_t next_offset() const {
    return records_.empty() ? reader_->position() : records_.front().offset;
  }

 private:
  const TopicPartition at_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<PartitionReader> reader_;
  std::deque<Record> records_;

  Mutex mutex_;
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace pitwall::history
