#include "services/history/store/history_store.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/history/store/segment_recovery.h"
#include "services/history/windows/node_means.h"

namespace pitwall::history {
namespace {

using store::DatabaseRow;

// Restores jobs from the catalog. `walk` visits the rows of a kind, and `job_of` returns the job of
// a row.
template <typename Walk, typename JobOf>
Status RestoreJobs(const Walk& walk, const JobOf& job_of, SchemaPool* schemas) {
  RETURN_IF_ERROR(walk(kBootRow, [&](const DatabaseRow& row) -> Status {
    ASSIGN_OR_RETURN(SourceMeta boot, DecodeBoot(row.body));
    job_of(row)->telemetry().Restore(std::move(boot));
    return OkStatus();
  }));
  for (const RowKind kind : {kSchemaRow, kPackedSchemaRow}) {
    RETURN_IF_ERROR(walk(kind, [&](const DatabaseRow& row) -> Status {
      ASSIGN_OR_RETURN(Schema schema, DecodeSchema(row));
      const SharedSchema shared(std::move(schema));
      schemas->Add(row.job, shared);
      // Segments also contain derived schemas, but these can be rebuilt from the received schemas.
      if (const auto made = NodeMeans::Of(*shared); made != nullptr)
        schemas->Add(row.job, made->schema());
      job_of(row)->telemetry().Restore(shared);
      return OkStatus();
    }));
  }
  return walk(kSegmentRow, [&](const DatabaseRow& row) -> Status {
    ASSIGN_OR_RETURN(SealedWindow window, DecodeSegment(row.body));
    job_of(row)->telemetry().windows().Restore(std::move(window.facts), std::move(window.seen));
    return OkStatus();
  });
}

Status Recover(HistoryStore* store) {
  ASSIGN_OR_RETURN(const RecoveredSegments found, SegmentRecovery(store).Run());
  StoreCounters& counters = store->counters();
  counters.adopted = found.adopted;
  counters.quarantined = found.quarantined;
  counters.missing = found.missing;
  return OkStatus();
}

// Removes head files left behind by processes that exited between creating and unlinking a file.
Status RemoveMemTableFiles(const std::string& dir) {
  ASSIGN_OR_RETURN(const auto names, files::ListDirectory(dir));
  for (const std::string& name : names) {
    if (StartsWith(name, "head-") && EndsWith(name, ".tmp"))
      RETURN_IF_ERROR(files::Remove(Cat(dir, "/", name)));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<HistoryStore>> HistoryStore::Open(
    const std::string& dir, bool read_only, uint64_t first_place,
    std::shared_ptr<files::DiskFaults> faults, size_t cache_bytes) {
  std::unique_ptr<HistoryStore> out(
      new HistoryStore(dir, first_place, std::move(faults), cache_bytes));
  const std::string catalogue = dir + "/catalogue.db";
  if (!read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(out->segments_.dir()));
    ASSIGN_OR_RETURN(out->lock_, files::DirectoryLock::Take(dir));
  }
  if (read_only && !files::Exists(catalogue))
    return NotFound(Cat(catalogue, ": missing; not a history folder"));
  ASSIGN_OR_RETURN(out->database_, store::Database::Open(catalogue, read_only));
  RETURN_IF_ERROR(out->Load());
  if (read_only) return out;
  RETURN_IF_ERROR(Recover(out.get()));
  RETURN_IF_ERROR(RemoveMemTableFiles(dir));
  return out;
}

Status HistoryStore::Load() {
  const Status walked = database_->ForEach(kTombstoneRow, [&](DatabaseRow row) -> Status {
    ASSIGN_OR_RETURN(const Tombstone tombstone, DecodeTombstone(row.body));
    AddTombstone(row.key, tombstone);
    return OkStatus();
  });
  RETURN_IF_ERROR(walked);
  RETURN_IF_ERROR(RestoreJobs(
      [&](RowKind kind, const auto& row) { return database_->ForEach(kind, row); },
      [&](const DatabaseRow& row) { return jobs_.FindOrAdd(row.job); }, &segments_.schemas()));
  for (const StoredJobPtr& job : jobs_.All()) {
    for (const auto& [start, window] : job->windows())
      segments_.RaiseGeneration(window.sealed->generation);
  }
  return database_->ForEach(kEventRow, [&](const DatabaseRow& row) -> Status {
    ASSIGN_OR_RETURN(const KeptRecord record, DecodeRecord(row));
    record_ = std::max<uint64_t>(record_, record.number);
    const StoredJobPtr job = jobs_.FindOrAdd(row.job);
    if (record.topic != EventTopic::kIssues) return OkStatus();
    ASSIGN_OR_RETURN(const IssueEvent event, cloudevents::DecodeCloudEvent(record.value));
    job->OnEvent(event);
    return OkStatus();
  });
}

Status HistoryStore::LoadJob(StoredJob* job) const {
  const Status loaded = RestoreJobs(
      [&](RowKind kind, const auto& row) { return database_->ForEachOf(kind, job->id(), row); },
      [&](const DatabaseRow&) { return job; }, &segments_.schemas());
  job->EndLoad(loaded);
  if (loaded.ok()) ++counters_.reloaded;
  return loaded;
}

JobLifePtr HistoryStore::LifeOf(std::string_view id) const {
  const StoredJobPtr job = jobs_.Find(id);
  if (job == nullptr) return nullptr;
  MutexLock lock(&job->mutex());
  return job->SharedLife();
}

StatusOr<StoredJobPtr> HistoryStore::Find(std::string_view id) const {
  const StoredJobPtr job = jobs_.Find(id);
  if (job == nullptr) return job;
  MutexLock lock(&job->mutex());
  if (!job->loaded()) RETURN_IF_ERROR(LoadJob(job.get()));
  return StoredJob::Pin(job);
}

StatusOr<StoredJobPtr> HistoryStore::FindOrAdd(const std::string& id) {
  StoredJobPtr job = jobs_.FindOrAdd(id);
  MutexLock lock(&job->mutex());
  if (!job->loaded()) RETURN_IF_ERROR(LoadJob(job.get()));
  return job;
}

bool HistoryStore::UnloadUnused(const StoredJobPtr& job) {
  MutexLock lock(&job->mutex());
  if (!job->Unload()) return false;
  segments_.schemas().Remove(job->id());
  ++counters_.unloaded;
  return true;
}

void HistoryStore::Remove(const std::string& id) {
  jobs_.Remove(id);
  segments_.Forget(id);
}

}  // namespace pitwall::history
