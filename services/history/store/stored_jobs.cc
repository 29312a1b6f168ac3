#include "services/history/store/stored_jobs.h"

namespace pitwall::history {

StoredJobPtr StoredJobs::Find(std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second;
}

StoredJobPtr StoredJobs::FindOrAdd(const std::string& id) {
  MutexLock lock(&mutex_);
  StoredJobPtr& job = jobs_[id];
  if (job == nullptr) {
    job = std::make_shared<StoredJob>(id, ++version_);
  }
  return job;
}

std::vector<StoredJobPtr> StoredJobs::All() const {
  MutexLock lock(&mutex_);
  std::vector<StoredJobPtr> out;
  for (const auto& [id, job] : jobs_) out.push_back(job);
  return out;
}

void StoredJobs::Remove(const std::string& id) {
  MutexLock lock(&mutex_);
  jobs_.erase(id);
  ++version_;
}

std::map<std::string, Tombstone> StoredJobs::Tombstones() const {
  MutexLock lock(&mutex_);
  return tombstones_;
}

void StoredJobs::AddTombstone(const std::string& hash, const Tombstone& tombstone) {
  MutexLock lock(&mutex_);
  tombstones_[hash] = tombstone;
}

}  // namespace pitwall::history
