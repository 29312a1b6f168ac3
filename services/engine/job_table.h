// The jobs of one partition, and the offsets of the records and snapshots that each needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/engine/job/job.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

struct JobEntry {
  std::unique_ptr<Job> job;      // null: gone
  int64_t first_offset = 0;      // first record of it, for a job without snapshot
  int64_t from_offset = 0;       // records below it are part of the restored state
  int64_t snapshot_offset = -1;  // of the newest committed one
  int64_t snapshot_log_time = 0;
  int64_t gone_at = -1;          // offset after the record by which it went
  bool marked = false;           // the committed snapshot marks the job as gone
  bool tombstone_kept = false;   // … that it has ended
  bool needs_reconcile = false;  // its history was lost since its alerts were reconciled
  bool snapshot_due = false;     // whatever its age

  bool running() const { return job != nullptr && !job->lifecycle().ended(); }
  bool is_tombstone() const { return job != nullptr && job->lifecycle().ended(); }
  // Records from here on are needed to rebuild it.
  int64_t replay_offset() const { return snapshot_offset >= 0 ? snapshot_offset : first_offset; }
};

// Enforces the limits of the number of jobs. Not thread-safe.
class JobTable {
 public:
  explicit JobTable(const EngineOptions& options) : options_(options) {}

  // Null: not known.
  JobEntry* FindEntry(std::string_view id);
  // Adds the entry of a new job at its first record. The tombstone of the job that ended first is
  // forgotten where there are too many, also of the owner's. Null: too many jobs run.
  JobEntry* Admit(const std::string& id, const std::string& owner, int64_t offset);
  void Put(const std::string& id, JobEntry entry) { jobs_[id] = std::move(entry); }
  void Drop(const std::string& id) { jobs_.erase(id); }
  // Calls `f(entry)` for each, in the order of IDs.
  template <typename F>
  void ForEach(F f) {
    for (auto& [id, entry] : jobs_) f(entry);
  }

  // Null: not known, or gone.
  const Job* Find(std::string_view id) const;
  // All that are not gone, in the order of IDs.
  std::vector<const Job*> All() const;
  size_t size() const;
  // Jobs whose history was lost since their alerts were reconciled last. Once they are live, what
  // was emitted of their alerts must be reconciled with them.
  std::vector<std::string> NeedsReconcile() const;
  // The least offset from which records must be read to rebuild the state; `next_offset` where all
  // are part of snapshots.
  int64_t ReplayOffset(int64_t next_offset) const;
  // Jobs whose snapshot is older than `interval_ns` of log time, and jobs that went since theirs.
  // At most `limit`.
  std::vector<std::string> SnapshotsDue(int64_t interval_ns, size_t limit) const;
  // Jobs that are gone and whose markers nobody needs any more. Forgets them.
  std::vector<std::string> TakeForgotten(int64_t next_offset);

 private:
  bool IsFull() const;
  // The owner has as many jobs as one owner may have.
  bool ShareIsFull(const std::string& owner) const;
  void EvictTombstones(int64_t offset, const std::string& owner);

  const EngineOptions options_;
  std::map<std::string, JobEntry, std::less<>> jobs_;
};

}  // namespace pitwall::engine
