// Records of one topic partition that were read but not yet encoded.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"

namespace pitwall::history {

// Queue behind the follower of a partition. Only one thread may use it, except for Interrupt.
class RecordQueue {
 public:
  // While `stop` is true, no call waits for records. `stop` must outlive this object. The clock and
  // log are borrowed.
  RecordQueue(Clock* clock, Log* log, TopicPartition at, const std::atomic<bool>* stop);

  // Starts reading at `from`. The queue must be empty.
  Status Open(int64_t from);
  bool open() const { return follower_.is_open(); }
  // Interrupts a waiting Read. May be called from any thread.
  void Interrupt() { follower_.Interrupt(); }

  // Adds records to the queue. Returns DataLoss if the log has lost records that precede the added
  // records. Returns log_truncated if the log was replaced. The caller must then call Open before
  // the next call.
  Status Read(Duration timeout);
  // Returns true if the log was replaced after the last call to Open.
  bool replaced() const { return replaced_; }

  // The following functions require open(), and that the log was not replaced.
  // Returns the offset after the last record of the log.
  StatusOr<int64_t> EndOffset() { return follower_.EndOffset(); }
  // Returns the offset of the first record that Pop has not returned yet.
  int64_t next_offset() const {
    return records_.empty() ? follower_.position() : records_.front().offset;
  }

  bool empty() const { return records_.empty(); }
  const Record& front() const { return records_.front(); }
  Record Pop();

 private:
  const std::atomic<bool>& stop_;
  TopicFollower follower_;
  bool replaced_ = false;
  std::deque<Record> records_;
};

}  // namespace pitwall::history
