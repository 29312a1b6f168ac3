// Follower of one partition of a topic that grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"

namespace pitwall {

struct FollowerOptions {
  // Where reading continues after the log was replaced, that is, after the topic was deleted,
  // recreated, or truncated.
  enum class Resume {
    kStart,
    kEnd,
    kAfterNewest,  // at the first record that was appended after the newest record read
    kNever,        // every call that would read returns log_truncated
  };

  int64_t from = kFromStart;  // first offset, kFromStart, or kFromEnd
  // Mark stored with `from` (log_fingerprint.h). Without one, a replaced log is detected only if it
  // ends before `from`.
  LogFingerprint mark;
  // With kFromStart, reading starts at most this many offsets before the end.
  int64_t last_offsets = INT64_MAX;
  Resume resume = Resume::kStart;
  size_t max_records = 500;  // per poll
  size_t max_bytes = size_t{4} << 20;
  // Number of consecutive polls of one second without progress after which ReadToEnd fails.
  int max_silent_polls = 30;
  // Minimum time between attempts to open the partition. Until then, Poll repeats the last error.
  Duration open_interval = Duration::Seconds(1);
  // Minimum time between checks for a replaced log, which happen after polls without records. A
  // check is a request to the log; a Kafka reader detects most replacements without it.
  Duration check_interval = Duration::Seconds(10);
};

struct FollowedRecords {
  std::vector<Record> records;
  Status loss;      // DataLoss if records before `records` were lost, otherwise OK
  Status replaced;  // log_truncated if the log was replaced (`records` is empty), otherwise OK
};

// Opens the partition when it exists, keeps its position over errors, and continues after the log
// was replaced. One thread at a time may use a follower, except for Interrupt. The clock and log
// are borrowed.
class TopicFollower {
 public:
  TopicFollower(Clock* clock, Log* log, TopicPartition at, FollowerOptions options = {});

  // Opens the partition if necessary. Returns NotFound if it does not exist.
  Status Open();
  // Opens the partition if necessary and reads records, waiting up to `timeout` for the first one.
  // May return records together with an error. The next call continues after them.
  Status Poll(Duration timeout, FollowedRecords* out);
  // Opens the partition if necessary and reads to the end that it has now. Checks for a replaced
  // log first. Passes each result of Poll that is not empty to `take`, and stops at the first error
  // of either. Returns Unavailable if `stop` becomes true, or if the partition delivers no records
  // before its end.
  Status ReadToEnd(const std::function<Status(FollowedRecords*)>& take,
                   const std::atomic<bool>* stop = nullptr);
  // Continues at an offset that was stored with a mark.
  void Restart(int64_t from, const LogFingerprint& mark);
  // Ends the current or the next Poll. May be called from any thread.
  void Interrupt();

  const TopicPartition& at() const { return at_; }
  bool is_open() const { return open_; }
  // The following functions require is_open().
  int64_t position() const { return reader_->position(); }  // the next offset to read
  StatusOr<int64_t> EndOffset() { return reader_->EndOffset(); }
  StatusOr<int64_t> StartOffset() { return reader_->StartOffset(); }
  // Returns the end of the partition when it was opened, or when a replaced log was detected.
  int64_t end_at_open() const { return end_at_open_; }
  // Returns whether all records before end_at_open() have been read.
  bool caught_up() const { return position() >= end_at_open_; }

  // Returns the mark of the newest record read.
  const LogFingerprint& mark() const { return mark_; }
  // Returns the number of times that the log was replaced.
  uint64_t resets() const { return resets_; }

 private:
  Status TryOpen();
  // Continues in the current log if it is not the one that was read, and sets replaced_. Returns
  // the current end.
  StatusOr<int64_t> CheckReplaced();
  Status ResumeAfter(const Status& why);

  Clock* const clock_;
  Log* const log_;
  const TopicPartition at_;
  const FollowerOptions options_;
  int64_t from_;
  LogFingerprint mark_;
  bool open_ = false;
  Status open_error_;
  MonotonicTime next_open_, next_check_;
  // Position before the last poll. A lower position is one in a replaced log.
  int64_t polled_from_ = 0;
  int64_t end_at_open_ = 0;
  uint64_t resets_ = 0;
  Status replaced_;  // reported by the next Poll

  Mutex mutex_;  // for the pointer; only Interrupt is called from other threads
  std::unique_ptr<PartitionReader> reader_;
};

}  // namespace pitwall
