// Marks of the records that a receiver has read from one partition, for the positions that it
// stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "services/io/log_fingerprint.h"

namespace pitwall::notifier {

// State of the mark below a receiver's position. The mark is stored with the position, so the state
// spans restarts. Every transition is one function of ReadMarks:
//
//   (restart) -- Restore --> the state of the stored mark
//   any -------- Deliver --> kInLog, if a record below the position was read in this log
//   any -------- Replace --> kInFormerLog, or kNone if no record was ever read
//
// OnRead changes no state: the mark of a record is used once the position has passed the record.
enum class MarkState {
  kNone,         // no record was read, so a replaced log is detected only if it ends too early
  kInLog,        // the mark is a record of the current log
  kInFormerLog,  // the log was replaced; records appended after the mark are new
};

// Not thread-safe.
class ReadMarks {
 public:
  // Maximum number of records between the position and the newest record read whose marks are kept.
  static constexpr size_t kMaxMarks = 4096;

  // Continues with the mark of a stored position. Forgets all others.
  void Restore(const LogFingerprint& stored);
  // Records that a record was read. Records before the newest one are read again after a restart,
  // and ignored.
  void OnRead(const LogFingerprint& record);
  // All records below `position` were delivered. Positions must not decrease between calls to
  // Replace. Returns the mark below the position.
  const LogFingerprint& Deliver(int64_t position);
  // The log was replaced. Keeps only the append time of the newest record read.
  void Replace();

  // Returns the mark of the newest record read, which may have been read in a former log.
  const LogFingerprint& newest() const { return later_.empty() ? mark_ : later_.back(); }
  MarkState state() const;

 private:
  LogFingerprint mark_;               // below the position
  std::deque<LogFingerprint> later_;  // of records at or after the position
};

}  // namespace pitwall::notifier
