// Segment files of a store: paths, open segments, damage, and removal.
//
// <dir>/<hash of the job ID>/<window>-<generation>.seg
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/store/database.h"
#include "services/base/mutex.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/window_segment.h"
#include "services/history/windows/schema_pool.h"

namespace pitwall::history {

// Segment files in one folder, and the data read from them. Thread-safe.
class SegmentFiles {
 public:
  SegmentFiles(std::string dir, size_t cache_bytes)
      : dir_(std::move(dir)), cache_(cache_bytes, kMostOpen) {}

  const std::string& dir() const { return dir_; }
  std::string PathOf(const SegmentMeta& facts) const;
  // Returns the sealed window. The segment is opened once and stays open for a while.
  StatusOr<std::shared_ptr<const WindowSegment>> Open(const SegmentMeta& facts);
  SegmentCache& cache() { return cache_; }
  // Returns the schemas of loaded jobs. Segments that are opened later share them.
  SchemaPool& schemas() { return schemas_; }

  // Returns DataLoss if any segment in the catalog is missing or is known to be damaged.
  Status Damage() const;
  void NoteDamage(const SegmentMeta& facts, std::string_view what);
  // Marks a file that the catalog no longer references. The next Settle removes the file.
  void Discard(const SegmentMeta& facts);
  // Checkpoints the write-ahead file and then removes discarded files.
  Status Settle(store::Database* database);
  // Drops the damage descriptions and schemas of a removed job, and all cached data.
  void Forget(const std::string& job);

  uint64_t NextGeneration() { return ++generation_; }
  // Marks all generations up to `used` as used.
  void RaiseGeneration(uint64_t used) { generation_ = std::max<uint64_t>(generation_, used); }

 private:
  static constexpr size_t kMostOpen = 256;  // each open segment holds a file descriptor

  const std::string dir_;
  std::atomic<uint64_t> generation_{0};
  SegmentCache cache_;
  SchemaPool schemas_;

  mutable Mutex mutex_;
  std::vector<SegmentMeta> discarded_ ABSL_GUARDED_BY(mutex_);
  // Descriptions of damaged segments, by job and path.
  std::map<std::pair<std::string, std::string>, std::string> damage_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
