// The spools of all lanes, in one directory, with one bound.
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

// The lane of a job's records.
uint64_t LaneOf(std::string_view job);

// Files: one directory per lane, named by its number as 16 hexadecimal digits, each a Spool;
// `cursors`, what ClientCursors::Save says, written before a segment with notes is removed; `lock`
// and segments beside it are a spool of the version before, whose records are moved to their lanes
// when it opens.
//
// Not thread-safe; the cursors are.
class SpoolSet {
 public:
  // FailedPrecondition: another process has it. Everything is borrowed.
  static StatusOr<std::unique_ptr<SpoolSet>> Open(const std::string& dir, uint64_t max_bytes,
                                                  Counters* counters, ClientCursors* cursors);

  // Lanes with a spool, in the order of their numbers.
  std::vector<uint64_t> Lanes() const;
  // Null: the lane has none.
  Spool* Find(uint64_t lane);
  // Made when there is none. Its records count against the bound of all: beyond it, what is
  // acknowledged goes first, then the oldest segment of the lane that has the most.
  Status Append(uint64_t lane, const std::vector<PendingRecord>& records, Spool::Position* end);
  // Removes the spool of a lane that is empty.
  Status Remove(uint64_t lane);
  // Makes everything survive the machine.
  Status Sync();
  // Nothing more will be appended: keeps the cursors, and no files that are acknowledged.
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
