#include "services/engine/job_table.h"

#include <algorithm>

namespace pitwall::engine {

namespace {

// A tombstone's snapshot contains its age. An error of up to an hour is acceptable.
constexpr Duration kTombstoneInterval = Duration::Hours(1);

}  // namespace

JobEntry* JobTable::FindEntry(std::string_view id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobEntry* JobTable::Admit(const std::string& id, const std::string& owner, LogOffset offset) {
  if (IsFull() || ShareIsFull(owner)) return nullptr;
  EvictTombstones(offset, owner);
  JobEntry* entry = &jobs_[id];
  entry->first_offset = offset;
  entry->from_offset = offset;
  return entry;
}

bool JobTable::IsFull() const {
  if (jobs_.size() < options_.partition.max_jobs) return false;
  size_t running = 0;
  for (const auto& [id, entry] : jobs_) running += entry.running();
  return running >= options_.partition.max_jobs;
}

bool JobTable::ShareIsFull(const std::string& owner) const {
  if (owner.empty() || jobs_.size() < options_.partition.max_jobs_per_owner) return false;
  size_t running = 0;
  for (const auto& [id, entry] : jobs_)
    running += entry.running() && entry.job->state().identity.owner == owner;
  return running >= options_.partition.max_jobs_per_owner;
}

void JobTable::EvictTombstones(LogOffset offset, const std::string& owner) {
  if (jobs_.size() <
      std::min(options_.partition.max_tombstones, options_.partition.max_tombstones_per_owner))
    return;
  size_t ended = 0;
  size_t ended_of_owner = 0;
  JobEntry* first = nullptr;
  JobEntry* first_of_owner = nullptr;
  for (auto& [id, entry] : jobs_) {
    // For a restored job, data from before its snapshot is unknown.
    if (!entry.is_tombstone() || offset < entry.from_offset) continue;
    const auto keep_first = [&entry = entry](JobEntry** known) {
      if (*known == nullptr ||
          entry.job->state().lifecycle.ended_at() < (*known)->job->state().lifecycle.ended_at())
        *known = &entry;
    };
    ++ended;
    keep_first(&first);
    if (owner.empty() || entry.job->state().identity.owner != owner) continue;
    ++ended_of_owner;
    keep_first(&first_of_owner);
  }
  JobEntry* evicted = nullptr;
  if (ended_of_owner >= options_.partition.max_tombstones_per_owner) evicted = first_of_owner;
  if (evicted == nullptr && ended >= options_.partition.max_tombstones) evicted = first;
  if (evicted == nullptr) return;
  evicted->job.reset();
  evicted->gone_at = offset + 1;
  // The log does not need to retain any records for this job.
  evicted->tombstone_kept = false;
  evicted->snapshot_offset = std::max(evicted->snapshot_offset, offset);
}

const Job* JobTable::Find(std::string_view id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.job.get();
}

std::vector<const Job*> JobTable::All() const {
  std::vector<const Job*> all;
  for (const auto& [id, entry] : jobs_) {
    if (entry.job != nullptr) all.push_back(entry.job.get());
  }
  return all;
}

size_t JobTable::size() const {
  return static_cast<size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [](const auto& entry) { return entry.second.job != nullptr; }));
}

std::vector<std::string> JobTable::NeedsReconcile() const {
  std::vector<std::string> jobs;
  for (const auto& [id, entry] : jobs_) {
    if (entry.needs_reconcile) jobs.push_back(id);
  }
  return jobs;
}

LogOffset JobTable::ReplayOffset(LogOffset next_offset) const {
  LogOffset least = next_offset;
  for (const auto& [id, entry] : jobs_) {
    // A tombstone's only state is its age, which the next snapshot corrects.
    if (entry.tombstone_kept && entry.is_tombstone()) continue;
    least = std::min(least, entry.replay_offset());
  }
  return least;
}

std::vector<std::string> JobTable::SnapshotsDue(Duration interval, size_t limit) const {
  std::vector<std::string> due;
  for (const auto& [id, entry] : jobs_) {
    if (due.size() >= limit) break;
    const bool gone = entry.job == nullptr && !entry.marked;
    const bool tombstone = entry.is_tombstone() && entry.tombstone_kept;
    if (gone || entry.snapshot_due ||
        (entry.job != nullptr && entry.job->state().log_time.ticks() - entry.snapshot_log_time >=
                                     (tombstone ? kTombstoneInterval : interval))) {
      due.push_back(id);
    }
  }
  return due;
}

std::vector<std::string> JobTable::TakeForgotten(LogOffset next_offset) {
  LogOffset least = next_offset;
  for (const auto& [id, entry] : jobs_) {
    if (!entry.marked) least = std::min(least, entry.replay_offset());
  }
  std::vector<std::string> forgotten;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (it->second.marked && it->second.job == nullptr && it->second.snapshot_offset <= least) {
      forgotten.push_back(it->first);
      it = jobs_.erase(it);
    } else {
      ++it;
    }
  }
  return forgotten;
}

}  // namespace pitwall::engine
