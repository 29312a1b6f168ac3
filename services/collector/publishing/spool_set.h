// Spools of all lanes in one directory, with a shared size limit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/publishing/spool.h"

namespace pitwall::collector {

// Returns the lane that publishes a job's records.
uint64_t LaneOf(std::string_view job);

// Files: one directory per lane, whose name is the lane number as 16 hexadecimal digits, each a
// Spool; `cursors`, the output of ClientCursors::Save, written before a segment with notes is
// removed; `lock`. Segments in the top directory are a spool from the previous version; Open moves
// its records to their lanes.
//
// Not thread-safe, except for the cursors.
class SpoolSet {
 public:
  // Opens the spools. Returns FailedPrecondition if another process uses the directory. The caller
  // owns the counters and cursors.
  static StatusOr<std::unique_ptr<SpoolSet>> Open(const std::string& dir, uint64_t max_bytes,
                                                  Counters* counters, ClientCursors* cursors);

  // Returns the lanes that have a spool, in ascending order.
  std::vector<uint64_t> Lanes() const;
  // Returns the lane's spool, or nullptr if the lane has no spool.
  Spool* Find(uint64_t lane);
  // Appends to the lane's spool, creating it if necessary. Above the shared size limit,
  // acknowledged segments are removed first, and then the oldest segments of the largest lane.
  Status Append(uint64_t lane, const std::vector<PendingRecord>& records, Spool::Position* end);
  // Removes the spool of an empty lane.
  Status Remove(uint64_t lane);
  // Syncs all spools to disk.
  Status Sync();
  // Saves the cursors and removes acknowledged files. Must be called after the last append.
  void Finish();

 private:
  SpoolSet(std::string dir, uint64_t max_bytes, Counters* counters, ClientCursors* cursors);
  Status Load();
  Status MoveLegacy();
  Status Add(uint64_t lane);
  SpoolHooks Hooks();
  void MakeRoom(uint64_t bytes);
  void SaveCursors();
  std::string PathOf(uint64_t lane) const;

  const std::string dir_;
  const uint64_t max_bytes_;
  Counters* const counters_;
  ClientCursors* const cursors_;
  std::unique_ptr<Spool> legacy_;  // also holds the lock
  std::map<uint64_t, std::unique_ptr<Spool>> spools_;
  uint64_t saved_version_ = 0;
  bool complained_ = false;
};

}  // namespace pitwall::collector
