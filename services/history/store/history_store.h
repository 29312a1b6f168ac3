// Folder of the history and its state, which consists of the catalog, segments, and jobs.
//
// <dir>/LOCK
// <dir>/catalogue.db
// <dir>/segments/<hash of the job ID>/<window>-<generation>.seg
// <dir>/quarantine/<hash>-<name>: segments that could not be adopted
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/adapters/store/database.h"
#include "services/base/mutex.h"
#include "services/history/change_feed.h"
#include "services/history/segments/window_segment.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/stored_job.h"

namespace pitwall::history {

using StoredJobPtr = std::shared_ptr<StoredJob>;

struct StoreCounters {
  std::atomic<uint64_t> samples{0}, duplicates{0}, ahead{0}, unread{0}, after_raw{0};
  std::atomic<uint64_t> records{0}, undecodable{0}, events{0}, input_losses{0};
  std::atomic<uint64_t> sealed{0}, dropped_raw{0}, removed_jobs{0}, failed_saves{0};
  std::atomic<uint64_t> unloaded{0}, reloaded{0};  // number of jobs
  // Results of the recovery at the last start.
  std::atomic<uint64_t> adopted{0}, quarantined{0}, missing{0};
};

// Store of all jobs. Thread-safe.
class HistoryStore {
 public:
  // Opens the store, checks the catalog, and reconciles it with the segments (segment_recovery.h):
  // unlisted segments are adopted or quarantined. If `read_only` is set, which is intended for
  // archives, the call does not create, lock, move, or remove anything.
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
  // Returns all jobs, some of which may be unloaded.
  std::vector<StoredJobPtr> All() const;
  // Unloads the job if it was not used since the last call. Returns whether the job is now
  // unloaded. Call this from the thread of the job's partition.
  bool UnloadUnused(const StoredJobPtr& job);
  void Remove(const std::string& id);
  // Returns a number that increases when a job is added or removed.
  uint64_t jobs_version() const { return jobs_version_; }

  std::string PathOf(const SegmentMeta& facts) const;
  // Shares the schema of a sealed window with segments that are opened later.
  void Share(const std::string& job, const SharedSchema& schema) { schemas_.Add(job, schema); }
  void Renew(const std::string& job, const SharedSchema& schema) { schemas_.Renew(job, schema); }
  // Returns the sealed window. The segment is opened once and stays open for a while.
  StatusOr<std::shared_ptr<const WindowSegment>> Segment(const SegmentMeta& facts) const;
  SegmentCache& cache() const { return cache_; }
  const SchemaPool& schemas() const { return schemas_; }
  // Returns DataLoss if any segment in the catalog is missing or was found damaged when it was
  // opened.
  Status Damage() const;
  void NoteDamage(const SegmentMeta& facts, std::string_view what) const;
  // Marks a file that the catalog no longer references. The next Settle removes the file.
  void Discard(const SegmentMeta& facts);
  // Checkpoints the write-ahead file and then removes discarded files.
  Status Settle();
  uint64_t NextGeneration() { return ++generation_; }
  // Marks all generations up to `used` as used.
  void RaiseGeneration(uint64_t used) { generation_ = std::max<uint64_t>(generation_, used); }
  uint64_t NextRecord() { return ++record_; }

  store::DatabaseRow SegmentRow(const SegmentMeta& facts,
                                const std::map<OriginKey, SequenceRanges>& seen) const;
  std::map<std::string, Tombstone> Tombstones() const;
  void AddDeadLetter(const std::string& hash, const Tombstone& tombstone);

  store::Database& database() const { return *database_; }
  ChangeFeed& feed() { return feed_; }
  const ChangeFeed& feed() const { return feed_; }
  StoreCounters& counters() { return counters_; }
  const std::string& dir() const { return dir_; }
  std::string segments_dir() const { return dir_ + "/segments"; }
  const std::shared_ptr<files::DiskFaults>& faults() const { return faults_; }
  bool read_only() const { return read_only_; }

 private:
  HistoryStore(std::string dir, bool read_only, uint64_t first_place,
               std::shared_ptr<files::DiskFaults> faults, size_t cache_bytes)
      : dir_(std::move(dir)),
        read_only_(read_only),
        faults_(std::move(faults)),
        feed_(first_place),
        cache_(cache_bytes, kMostOpen) {}
  Status Load();
  Status LoadEvents();
  // Loads a job from the catalog. If an error occurs, the job stays unloaded.
  Status LoadJob(StoredJob* job) const;
  Status RestoreJob(StoredJob* job) const;
  Status RestoreBoot(const store::DatabaseRow& row, StoredJob* job) const;
  Status RestoreSchema(const store::DatabaseRow& row, StoredJob* job) const;
  // Restores a segment row and returns the segment's generation.
  StatusOr<uint64_t> RestoreSegment(const store::DatabaseRow& row, StoredJob* job) const;
  StoredJobPtr Known(std::string_view id) const;  // nullptr if the job does not exist
  StoredJobPtr JobOf(const std::string& id);
  Status Recover();
  Status RemoveMemTableFiles();

  const std::string dir_;
  const bool read_only_;
  const std::shared_ptr<files::DiskFaults> faults_;
  std::unique_ptr<files::DirectoryLock> lock_;
  std::unique_ptr<store::Database> database_;
  std::atomic<uint64_t> generation_{0}, record_{0}, jobs_version_{1};
  ChangeFeed feed_;
  mutable StoreCounters counters_;
  static constexpr size_t kMostOpen = 256;  // each open segment holds a file descriptor
  mutable SegmentCache cache_;
  mutable SchemaPool schemas_;

  mutable Mutex mutex_;
  std::map<std::string, StoredJobPtr, std::less<>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Tombstone> tombstones_ ABSL_GUARDED_BY(mutex_);
  std::vector<SegmentMeta> discarded_ ABSL_GUARDED_BY(mutex_);
  // Descriptions of damaged segments, by job and path.
  mutable std::map<std::pair<std::string, std::string>, std::string> damage_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
