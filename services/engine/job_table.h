// Jobs of one partition, and the offsets of the records and snapshots that each job needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/engine/job/job.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

struct JobEntry {
  std::unique_ptr<Job> job;  // null if the job is gone
  LogOffset first_offset;    // offset of its first record, if it has no snapshot
  LogOffset from_offset;     // the restored state includes earlier records
  LogOffset snapshot_offset = LogOffset::None();  // offset of its newest committed snapshot
  Duration snapshot_log_time;
  LogOffset gone_at = LogOffset::None();  // offset after the record that removed the job
  bool marked = false;                    // the committed snapshot marks the job as gone
  bool tombstone_kept = false;            // the committed snapshot marks the job as ended
  bool needs_reconcile = false;           // history was lost since the last alert reconciliation
  bool snapshot_due = false;              // due regardless of the last snapshot's age

  bool running() const { return job != nullptr && !job->state().lifecycle.ended(); }
  bool is_tombstone() const { return job != nullptr && job->state().lifecycle.ended(); }
  // Returns the offset of the first record needed to rebuild the job.
  LogOffset replay_offset() const {
    return snapshot_offset != LogOffset::None() ? snapshot_offset : first_offset;
  }
};

// Enforces the limits on the number of jobs. Not thread-safe.
class JobTable {
 public:
  explicit JobTable(const EngineOptions& options) : options_(options) {}

  // Returns null if the job is unknown.
  JobEntry* FindEntry(std::string_view id);
  // Adds an entry for a new job at its first record. If there are too many tombstones, in total or
  // for the owner, evicts the tombstone of the job that ended first. Returns null if too many jobs
  // are running.
  JobEntry* Admit(const std::string& id, const std::string& owner, LogOffset offset);
  void Put(const std::string& id, JobEntry entry) { jobs_[id] = std::move(entry); }
  void Drop(const std::string& id) { jobs_.erase(id); }
  // Calls `f(entry)` for each entry in ID order.
  template <typename F>
  void ForEach(F f) {
    for (auto& [id, entry] : jobs_) f(entry);
  }

  // Returns null if the job is unknown or gone.
  const Job* Find(std::string_view id) const;
  // Returns all jobs that are not gone, in ID order.
  std::vector<const Job*> All() const;
  size_t size() const;
  // Returns the jobs that have lost history since the last reconciliation of their alerts. Once the
  // jobs are live, their emitted alerts must be reconciled with their state.
  std::vector<std::string> NeedsReconcile() const;
  // Returns the offset of the first record needed to rebuild the state, or `next_offset` if
  // snapshots contain all records.
  LogOffset ReplayOffset(LogOffset next_offset) const;
  // Returns at most `limit` jobs whose snapshot is older than `interval` in log time, or that went
  // away after their snapshot.
  std::vector<std::string> SnapshotsDue(Duration interval, size_t limit) const;
  // Returns ended jobs whose markers are no longer needed, and removes the jobs from the table.
  std::vector<std::string> TakeForgotten(LogOffset next_offset);

 private:
  bool IsFull() const;
  // Returns whether the owner has reached the per-owner job limit.
  bool ShareIsFull(const std::string& owner) const;
  void EvictTombstones(LogOffset offset, const std::string& owner);

  const EngineOptions options_;
  std::map<std::string, JobEntry, std::less<>> jobs_;
};

}  // namespace pitwall::engine
