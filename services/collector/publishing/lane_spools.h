// Spools for the publisher's lanes, if enabled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/publishing/spool_set.h"

namespace pitwall::collector {

// Provides access to the spools. Of consecutive disk failures, logs only the first. Until Open is
// called, all spools are empty, and only the functions documented as callable without Open may be
// called. Not thread-safe.
class LaneSpools {
 public:
  // Opens the spools in a directory. The caller owns the counters and the cursors.
  Status Open(const std::string& dir, uint64_t max_bytes, Counters* counters,
              ClientCursors* cursors);
  // Returns whether there are spools. May be called without Open.
  bool open() const { return spools_ != nullptr; }
  // Returns whether the last write failed. May be called without Open.
  bool failed() const { return failed_; }
  // Clears the failure state, so that the next failure is logged.
  void ClearFailure() { failed_ = false; }

  // Returns the lanes that have a spool, in ascending order.
  std::vector<uint64_t> Lanes() const { return spools_->Lanes(); }
  // Returns whether the lane has no spooled records. May be called without Open.
  bool Empty(uint64_t lane);
  // Appends records and sets `*end` to the position after them. Returns false on a disk failure.
  bool Append(uint64_t lane, const std::vector<PendingRecord>& records, Spool::Position* end);
  // Reads the next records of a lane that has a spool (see Spool::Read). Skips damaged records.
  // Returns false on a disk failure.
  bool Read(uint64_t lane, size_t max_records, size_t max_bytes, std::vector<PendingRecord>* out,
            Spool::Position* end);
  // Marks all records of the lane before `position` as published.
  void Acknowledge(uint64_t lane, const Spool::Position& position);
  // Removes the spool of an empty lane. May be called without Open.
  void Remove(uint64_t lane);
  // Syncs all spools to disk. May be called without Open.
  void Sync();
  // Saves the cursors and removes acknowledged files. Must be called after the last append.
  void Finish() { spools_->Finish(); }

 private:
  // Logs a failure unless the previous write failed too. Returns whether `status` is OK.
  bool Check(const Status& status);

  std::unique_ptr<SpoolSet> spools_;
  bool failed_ = false;
};

}  // namespace pitwall::collector
