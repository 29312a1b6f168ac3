// Jobs in a store by ID, and the markers for deleted jobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/stored_job.h"

namespace pitwall::history {

using StoredJobPtr = std::shared_ptr<StoredJob>;

// Jobs in a store. Some may be unloaded. Thread-safe.
class StoredJobs {
 public:
  // Returns nullptr if the job does not exist.
  StoredJobPtr Find(std::string_view id) const;
  StoredJobPtr FindOrAdd(const std::string& id);
  std::vector<StoredJobPtr> All() const;
  void Remove(const std::string& id);
  // Returns a number that increases when a job is added or removed.
  uint64_t version() const { return version_; }

  // Returns the markers for deleted jobs, by hash of the job ID.
  std::map<std::string, Tombstone> Tombstones() const;
  void AddTombstone(const std::string& hash, const Tombstone& tombstone);

 private:
  std::atomic<uint64_t> version_{1};

  mutable Mutex mutex_;
  std::map<std::string, StoredJobPtr, std::less<>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Tombstone> tombstones_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
