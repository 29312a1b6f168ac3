// Writers for all partitions, and the set of files written since the last flush.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/commit/commit_request.h"
#include "services/adapters/embedded_log/commit/dirty_files.h"
#include "services/adapters/embedded_log/commit/partition_writer.h"
#include "services/adapters/embedded_log/format/append_clock.h"
#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/base/clock.h"
#include "services/base/status.h"

namespace pitwall::log {

// Writers for all partitions. Creates each writer when its partition receives its first record.
// Tracks the files that must be flushed, and suspends a partition if its files cannot be flushed.
// Not thread-safe: guarded by the writer lock.
class PartitionWriters {
 public:
  using Partitions = std::set<CommittedState::Partition*>;
  // Writers used by a request, ordered by their first record, with the previous state of each.
  using Undo = std::vector<std::pair<PartitionWriter*, PartitionWriter::Mark>>;

  // Borrows `state` and `clock`. If `suspend` is set, a failed flush suspends its partition;
  // otherwise, the commit itself fails and is rolled back.
  PartitionWriters(SegmentPolicy policy, bool suspend, CommittedState* state, const Clock* clock);

  // Appends the records to their partitions and adds the new ends to `frame`. Adds the used writers
  // to `undo`. After an error, the caller must roll back these writers.
  Status Write(const std::vector<RoutedRecord>& records, Frame* frame, Undo* undo);

  // Flushes all written files. Adds the partitions whose files could not be flushed to *culprits.
  Status Flush(Partitions* culprits);
  // Returns the files that the caller must flush. The caller runs FlushFiles without holding the
  // writer lock and then passes the result to EndFlush, which returns the first error.
  DirtyFiles BeginFlush();
  Status EndFlush(const DirtyFiles& flushed, const FlushResult& result);
  // Clears the set of files to flush. Called after all unflushed writes have been rolled back.
  void ForgetUnflushed() { dirty_.clear(); }
  bool HasUnflushed() const { return !dirty_.empty(); }

  // Removes a partition's writer. The next record creates a new one.
  void Remove(CommittedState::Partition* partition) { writers_.erase(partition); }
  void Clear() { writers_.clear(); }

  int64_t CountSuspended() const;
  int64_t bytes() const { return bytes_; }  // written to segments
  int64_t flushes() const { return flushes_; }
  int64_t failed_flushes() const { return failed_flushes_; }
  // Returns append time minus wall time, as AppendClock does.
  int64_t AheadNs() { return append_clock_.AheadNs(); }

 private:
  PartitionWriter* WriterOf(CommittedState::Partition* partition);
  // Suspends each partition whose flush failed, and resumes each partition whose flush succeeded.
  Status Settle(const DirtyFiles& flushed, const FlushResult& result);

  const SegmentPolicy policy_;
  const bool suspend_;
  CommittedState* const state_;
  std::map<CommittedState::Partition*, std::unique_ptr<PartitionWriter>> writers_;
  DirtyFiles dirty_;
  DirtyFiles in_flight_;  // files that a caller of BeginFlush is flushing right now
  AppendClock append_clock_;
  BatchBuilder builder_;
  int64_t bytes_ = 0;
  int64_t flushes_ = 0;
  int64_t failed_flushes_ = 0;
};

}  // namespace pitwall::log
