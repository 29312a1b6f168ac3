// Jobs in one partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "services/history/store/history_store.h"

namespace pitwall::history {

// List of the jobs in a partition, including unloaded jobs. Owns may be called from any thread, and
// the other functions only on the partition's thread.
class PartitionJobs {
 public:
  using List = std::shared_ptr<const std::vector<StoredJobPtr>>;

  // `store` must outlive this object.
  PartitionJobs(HistoryStore* store, int32_t partition, int32_t partitions)
      : store_(store), partition_(partition), partitions_(partitions) {}

  // Returns whether the job belongs to the partition.
  bool Owns(std::string_view job) const;
  List All();
  // Returns the number of events that are not saved yet.
  size_t CountUnsaved();
  // Returns the memory used by unsealed rows.
  size_t HeadBytes();
  // Returns whether a job has unsaved changes.
  bool Dirty();
  // Returns the lowest log offset of unsealed rows, or INT64_MAX. If `sealed` is not null, ignores
  // its window `window_ns`.
  int64_t FirstUnsealed(const StoredJob* sealed, int64_t window_ns);

 private:
  HistoryStore* const store_;
  const int32_t partition_;
  const int32_t partitions_;
  List jobs_;  // jobs of the partition at version_
  uint64_t version_ = 0;
};

}  // namespace pitwall::history
