// Replay of records that a previous owner has processed, and handling of lost state (time-model.md,
// section 6; docs/decisions/0015-detect-lost-state.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/processor/partition/partition_stats.h"

namespace pitwall::processor {

// Replay up to the committed offset C. Outputs of records below C are suppressed. After a loss of
// state, Settle reconciles the published issues at offset C. Not thread-safe.
class Replay {
 public:
  explicit Replay(int32_t partition) : partition_(partition) {}

  // Starts with an empty shard.
  void Restart();
  // Sets C. Outputs of records below this offset have already been committed.
  void SuppressBelow(int64_t offset) { suppress_below_ = offset; }
  // Adds `jobs` to the number of jobs without a snapshot at or after offset L.
  void NoteRebuilt(uint64_t jobs) { stats_.rebuilt_jobs += jobs; }
  // Records that the published issues cannot be derived from the remaining records. `gap` means
  // that the log no longer has records that the shard needs.
  void NoteLostState(bool gap);

  // Returns the offset C.
  int64_t end() const { return suppress_below_; }
  // Returns true if the outputs of a record at `offset` are suppressed.
  bool Suppresses(int64_t offset) const { return offset < suppress_below_; }
  // Counts the applied record at `offset` as replayed if its outputs are suppressed.
  void NoteApplied(int64_t offset) {
    if (Suppresses(offset)) ++stats_.records_replayed;
  }
  // Reports that the records between `next_offset` and `reader_offset` no longer exist because of
  // retention or corruption. The shard continues with the remaining records.
  void LoseInput(const Status& why, int64_t next_offset, LogOffset reader_offset,
                 engine::Shard* shard);
  // If state was lost, ends the published issues of jobs with lost history. Must be called at
  // offset C.
  Status Settle(Log* log, engine::Shard* shard, std::vector<IssueEvent>* out);

  const ReplayStats& stats() const { return stats_; }

 private:
  const int32_t partition_;
  int64_t suppress_below_ = 0;  // outputs of records below this offset have already been committed
  bool settle_due_ = false;     // true if Settle must run at suppress_below_
  ReplayStats stats_;
};

}  // namespace pitwall::processor
