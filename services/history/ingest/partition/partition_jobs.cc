#include "services/history/ingest/partition/partition_jobs.h"

#include <algorithm>
#include <utility>

#include "services/base/text/stable_hash.h"

namespace pitwall::history {

bool PartitionJobs::Owns(std::string_view job) const {
  return PartitionOf(job, partitions_) == partition_;
}

// The function is called several times per round, so it rebuilds the list only if a job was added
// or removed.
PartitionJobs::List PartitionJobs::All() {
  const uint64_t version = store_->jobs_version();
  if (jobs_ != nullptr && version == version_) return jobs_;
  std::vector<StoredJobPtr> jobs = store_->All();
  std::erase_if(jobs, [this](const StoredJobPtr& job) { return !Owns(job->id()); });
  jobs_ = std::make_shared<const std::vector<StoredJobPtr>>(std::move(jobs));
  version_ = version;
  return jobs_;
}

size_t PartitionJobs::CountUnsaved() {
  size_t unsaved = 0;
  const List jobs = All();
  for (const StoredJobPtr& job : *jobs) unsaved += job->records().size();
  return unsaved;
}

size_t PartitionJobs::HeadBytes() {
  size_t bytes = 0;
  const List jobs = All();
  for (const StoredJobPtr& job : *jobs) bytes += job->telemetry().windows().head_bytes();
  return bytes;
}

bool PartitionJobs::Dirty() {
  const List jobs = All();
  return std::any_of(jobs->begin(), jobs->end(),
                     [](const StoredJobPtr& job) { return job->dirty(); });
}

int64_t PartitionJobs::FirstUnsealed(const StoredJob* sealed, int64_t window_ns) {
  int64_t first = INT64_MAX;
  const List jobs = All();
  for (const StoredJobPtr& job : *jobs) {
    if (job->telemetry().windows().head_bytes() == 0) continue;  // all rows are sealed
    for (const auto& [start, window] : job->windows()) {
      if (job.get() == sealed && start == window_ns) continue;
      first = std::min(first, window.first_offset);
    }
  }
  return first;
}

}  // namespace pitwall::history
