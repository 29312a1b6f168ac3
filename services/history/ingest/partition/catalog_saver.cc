#include "services/history/ingest/partition/catalog_saver.h"

#include <utility>
#include <vector>

namespace pitwall::history {
namespace {

constexpr int64_t kSettleNs = 60 * kNanosPerSecond;

}  // namespace

Status CatalogSaver::Save(store::DatabaseChange change, const StoredJob* sealed_job,
                          int64_t window_ns) {
  inputs_->PutPositions(jobs_->FirstUnsealed(sealed_job, window_ns), &change);
  const PartitionJobs::List jobs = jobs_->All();
  std::vector<std::pair<StoredJobPtr, size_t>> collected;
  for (const StoredJobPtr& job : *jobs) {
    if (!job->dirty()) continue;
    job->Collect(&change);
    collected.emplace_back(job, job->records().size());
  }
  const Status applied = store_->database().Apply(change);
  if (!applied.ok()) {
    ++store_->counters().failed_saves;
    return applied;
  }
  for (const auto& [job, records] : collected) {
    MutexLock lock(&job->mutex());
    job->Collected(records);
  }
  saved_ns_ = clock_->MonotonicNs();
  return OkStatus();
}

Status CatalogSaver::SaveIfDue(bool force) {
  const int64_t now = clock_->MonotonicNs();
  if (!force && now - saved_ns_ < options_.save_interval_ns) return OkStatus();
  const bool dirty = jobs_->Dirty();
  const int64_t telemetry = inputs_->telemetry_offset();
  inputs_->MeasureLag();
  if (!dirty && telemetry == saved_telemetry_) {
    saved_ns_ = now;
    return OkStatus();
  }
  RETURN_IF_ERROR(Save({}, nullptr, 0));
  saved_telemetry_ = telemetry;
  if (now - settled_ns_ >= kSettleNs) {
    settled_ns_ = now;
    RETURN_IF_ERROR(store_->Settle());
  }
  return OkStatus();
}

}  // namespace pitwall::history
