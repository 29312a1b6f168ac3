// Position of a mirror in the log: which samples were sent, and which were in flight at the last
// stop.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/base/status.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::history {

// Position in one partition, stored in the log for a consumer group. Not thread-safe. Does not own
// the log.
class MirrorPosition {
 public:
  MirrorPosition(Log* log, std::string group, TopicPartition at)
      : log_(log), group_(std::move(group)), at_(std::move(at)) {}

  enum class Restored {
    kComplete,
    kGap,       // records were deleted before they were sent
    kReplaced,  // the log was replaced
  };
  // Continues at `committed`, or at the start of the log, `log_start`, if the log was replaced.
  StatusOr<Restored> Restore(const CommittedOffset& committed, int64_t log_start);
  // Starts at the beginning of the log, and forgets any previously restored position.
  void RestoreStart(int64_t log_start);
  // Skips the records below `offset` if the position is lower.
  void SkipTo(int64_t offset);
  // Completes the restoration, so that positions can be saved.
  void Begin();

  // Returns the first offset to send. Earlier records are only for warm-up.
  int64_t begin() const { return begin_; }
  // Returns the append time of the newest record read, or 0.
  int64_t newest_ns() const { return mark_.append_time.ns(); }
  // Marks the record as encoded.
  void NoteRead(const Record& record) { mark_ = {record.offset, record.append_time}; }

  // Returns true if the samples in flight at the last stop must be resent in one request, so that
  // the receiver has either all of them or none.
  bool repeating() const { return doubtful_end_ >= 0; }
  // Returns true if `offset` is at or after the end of the request to repeat.
  bool EndsRepetition(int64_t offset) const { return repeating() && offset >= doubtful_end_; }
  // Records and saves that a request with the samples below `end` is in flight.
  Status BeginRequest(int64_t end);
  // Marks all records below `next` as complete.
  void EndRequest(int64_t next);
  // Returns the next offset to send. All earlier records are complete.
  int64_t sent() const { return sent_; }
  // Saves the position and the end of the request in flight.
  Status Save();

 private:
  Log* const log_;
  const std::string group_;
  const TopicPartition at_;
  int64_t doubtful_end_ = -1;  // end of the samples that are or were in flight, or -1
  int64_t begin_ = 0;
  int64_t sent_ = -1;
  LogFingerprint mark_;       // mark of the newest record read
  LogFingerprint sent_mark_;  // mark of the newest complete record
  int64_t restored_ = -1;     // offset of the restored position, or -1
  int64_t saved_ = -1;
};

}  // namespace pitwall::history
