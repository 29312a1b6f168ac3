#include "services/processor/partition/shared_state.h"

namespace pitwall::processor {

void SharedState::WantRules(std::string hash) {
  MutexLock lock(&mutex_);
  wanted_rules_ = std::move(hash);
}

std::string SharedState::wanted_rules() const {
  MutexLock lock(&mutex_);
  return wanted_rules_;
}

void SharedState::Watch(std::vector<std::string> jobs) {
  MutexLock lock(&mutex_);
  watch_ = std::move(jobs);
}

std::vector<std::string> SharedState::watch() const {
  MutexLock lock(&mutex_);
  return watch_;
}

void SharedState::Publish(PartitionStats stats, WatchedJobs watched) {
  MutexLock lock(&mutex_);
  stats_ = std::move(stats);
  watched_ = std::move(watched);
}

PartitionStats SharedState::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

std::optional<WatchedJob> SharedState::Watched(const std::string& job) const {
  MutexLock lock(&mutex_);
  const auto found = watched_.find(job);
  if (found == watched_.end()) return std::nullopt;
  return found->second;
}

}  // namespace pitwall::processor
