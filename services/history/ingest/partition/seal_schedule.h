// Schedule for sealing a partition's windows and for moving rows into a file to free memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition/ingest_inputs.h"
#include "services/history/ingest/partition/partition_jobs.h"
#include "services/history/ingest/partition/window_sealer.h"
#include "services/history/memtable/mem_table.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Schedule for one partition. Bounds the memory and age of unsealed rows. head_bytes may be called
// from any thread, and the other functions only on the partition's thread. Does not own its
// dependencies.
class SealSchedule {
 public:
  // `share` is the memory that the partition's unsealed rows may use.
  SealSchedule(Clock* clock, HistoryStore* store, PartitionJobs* jobs, IngestInputs* inputs,
               WindowSealer* sealer, const HistoryOptions& options, int32_t partition,
               size_t share);

  // Measures the memory used by unsealed rows.
  void NoteMemory() { head_bytes_ = jobs_->HeadBytes(); }
  size_t head_bytes() const { return head_bytes_; }
  // Returns whether telemetry may be read. If sealing cannot reduce the memory below twice the
  // share, reading pauses and the remaining records stay in the log.
  bool MayRead() const { return head_bytes_ < 2 * share_; }

  // Seals the windows that are due, and frees memory if the rows use more than the share. Frames
  // that were dropped because they waited too long for a schema are counted in `counts`.
  Status SealDue(IngestCounts* counts);
  // Seals windows for at most HistoryOptions::stop_ns. The next start reads the remaining rows from
  // the log.
  Status SealAtStop();

 private:
  // An unsealed window and the memory that it uses.
  struct Heavy {
    StoredJobPtr job;
    int64_t window_ns = 0;
    size_t bytes = 0;
  };
  // Windows that may be sealed or moved to free memory.
  struct Candidates {
    Heavy largest;
    std::vector<Heavy> to_move;
    size_t movable = 0;
  };

  // Seals the job's windows that are due. If `candidates` is not null, adds the other windows to
  // it. Returns the first error.
  Status SealJobIfDue(const StoredJobPtr& job, int64_t now_ns, Candidates* candidates);
  // Returns false if no rows could be moved.
  bool MoveMost(std::vector<Heavy> windows);
  // Moves the rows of an unsealed window into a file.
  Status MoveRows(const StoredJobPtr& job, int64_t window_ns);

  Clock* const clock_;
  HistoryStore* const store_;
  PartitionJobs* const jobs_;
  IngestInputs* const inputs_;
  WindowSealer* const sealer_;
  const HistoryOptions& options_;
  const int32_t partition_;
  const size_t share_;
  std::atomic<size_t> head_bytes_{0};
  int64_t sealed_ns_ = 0;                    // monotonic time
  std::shared_ptr<MemTableFile> head_file_;  // file for moved chunks; chunks keep full files alive
};

}  // namespace pitwall::history
