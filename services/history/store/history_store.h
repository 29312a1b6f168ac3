// History folder and its state: the catalog, segments, and jobs.
//
// <dir>/LOCK
// <dir>/catalogue.db
// <dir>/segments/<hash of the job ID>/<window>-<generation>.seg
// <dir>/quarantine/<hash>-<name>: segments that could not be adopted
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/adapters/store/database.h"
#include "services/history/change_feed.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/segment_files.h"
#include "services/history/store/stored_jobs.h"

namespace pitwall::history {

struct StoreCounters {
  std::atomic<uint64_t> samples{0}, duplicates{0}, ahead{0}, unread{0}, after_raw{0};
  std::atomic<uint64_t> records{0}, undecodable{0}, events{0}, input_losses{0};
  std::atomic<uint64_t> sealed{0}, dropped_raw{0}, removed_jobs{0}, failed_saves{0};
  std::atomic<uint64_t> unloaded{0}, reloaded{0};  // number of jobs
  // Results of the last startup recovery.
  std::atomic<uint64_t> adopted{0}, quarantined{0}, missing{0};
};

// Store for all jobs. Thread-safe.
class HistoryStore {
 public:
  // Opens the store, checks the catalog, and reconciles it with the segments (segment_recovery.h):
  // unlisted segments are adopted or quarantined. If `read_only` is set (for archives), Open does
  // not create, lock, move, or remove anything.
  static StatusOr<std::unique_ptr<HistoryStore>> Open(const std::string& dir, bool read_only,
                                                      uint64_t first_place,
                                                      std::shared_ptr<files::DiskFaults> faults,
                                                      size_t cache_bytes = size_t{64} << 20);

  // Returns the job, or null if it does not exist. Loads the job and keeps it loaded for the
  // lifetime of the pointer.
  StatusOr<StoredJobPtr> Find(std::string_view id) const;
  // Loads the job and keeps it loaded until Unload. Call this from the thread of the job's
  // partition or during startup.
  StatusOr<StoredJobPtr> FindOrAdd(const std::string& id);
  // Returns the job's overview, or nullptr if the job does not exist. Does not load the job.
  JobLifePtr LifeOf(std::string_view id) const;
  // Returns all jobs. Some may be unloaded.
  std::vector<StoredJobPtr> All() const { return jobs_.All(); }
  // Unloads the job if it has not been used since the last call. Returns whether the job is now
  // unloaded. Call this from the thread of the job's partition.
  bool UnloadUnused(const StoredJobPtr& job);
  void Remove(const std::string& id);
  // Returns a number that increases when a job is added or removed.
  uint64_t jobs_version() const { return jobs_.version(); }
  std::map<std::string, Tombstone> Tombstones() const { return jobs_.Tombstones(); }
  void AddTombstone(const std::string& hash, const Tombstone& tombstone) {
    jobs_.AddTombstone(hash, tombstone);
  }

  SegmentFiles& segments() const { return segments_; }
  // Checkpoints the write-ahead file and then removes discarded files.
  Status Settle() { return segments_.Settle(database_.get()); }
  uint64_t NextRecord() { return ++record_; }

  store::Database& database() const { return *database_; }
  ChangeFeed& feed() const { return feed_; }
  StoreCounters& counters() const { return counters_; }
  const std::string& dir() const { return dir_; }
  const std::shared_ptr<files::DiskFaults>& faults() const { return faults_; }

 private:
  HistoryStore(std::string dir, uint64_t first_place, std::shared_ptr<files::DiskFaults> faults,
               size_t cache_bytes)
      : dir_(std::move(dir)),
        faults_(std::move(faults)),
        feed_(first_place),
        segments_(dir_ + "/segments", cache_bytes) {}
  Status Load();
  // Loads a job from the catalog. If an error occurs, the job stays unloaded.
  Status LoadJob(StoredJob* job) const;

  const std::string dir_;
  const std::shared_ptr<files::DiskFaults> faults_;
  std::unique_ptr<files::DirectoryLock> lock_;
  std::unique_ptr<store::Database> database_;
  std::atomic<uint64_t> record_{0};
  mutable ChangeFeed feed_;
  mutable StoreCounters counters_;
  mutable SegmentFiles segments_;
  StoredJobs jobs_;
};

}  // namespace pitwall::history
