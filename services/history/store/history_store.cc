#include "services/history/store/history_store.h"

#include <algorithm>

#include "services/base/cancellation.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/history/segments/text_page.h"
#include "services/history/store/segment_recovery.h"
#include "services/history/windows/node_means.h"

namespace pitwall::history {
namespace {

std::string FolderOf(const HistoryStore& store, std::string_view job) {
  return Cat(store.segments_dir(), "/", StableHashHex(job));
}

}  // namespace

StatusOr<std::unique_ptr<HistoryStore>> HistoryStore::Open(
    const std::string& dir, bool read_only, uint64_t first_place,
    std::shared_ptr<files::DiskFaults> faults, size_t cache_bytes) {
  std::unique_ptr<HistoryStore> out(
      new HistoryStore(dir, read_only, first_place, std::move(faults), cache_bytes));
  const std::string catalogue = dir + "/catalogue.db";
  if (!read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(out->segments_dir()));
    ASSIGN_OR_RETURN(out->lock_, files::DirectoryLock::Take(dir));
  }
  if (read_only && !files::Exists(catalogue))
    return NotFound(Cat(catalogue, ": missing; not a history folder"));
  ASSIGN_OR_RETURN(out->database_, store::Database::Open(catalogue, read_only));
  RETURN_IF_ERROR(out->Load());
  if (read_only) return out;
  RETURN_IF_ERROR(out->Recover());
  RETURN_IF_ERROR(out->RemoveMemTableFiles());
  return out;
}

Status HistoryStore::Load() {
  using store::DatabaseRow;
  const Status walked = database_->ForEach(kTombstoneRow, [&](DatabaseRow row) -> Status {
    ASSIGN_OR_RETURN(const Tombstone tombstone, DecodeTombstone(row.body));
    AddDeadLetter(row.key, tombstone);
    return OkStatus();
  });
  RETURN_IF_ERROR(walked);
  RETURN_IF_ERROR(database_->ForEach(
      kBootRow, [&](const DatabaseRow& row) { return RestoreBoot(row, JobOf(row.job).get()); }));
  for (const RowKind kind : {kSchemaRow, kPackedSchemaRow}) {
    RETURN_IF_ERROR(database_->ForEach(
        kind, [&](const DatabaseRow& row) { return RestoreSchema(row, JobOf(row.job).get()); }));
  }
  RETURN_IF_ERROR(database_->ForEach(kSegmentRow, [&](const DatabaseRow& row) -> Status {
    ASSIGN_OR_RETURN(const uint64_t generation, RestoreSegment(row, JobOf(row.job).get()));
    generation_ = std::max<uint64_t>(generation_, generation);
    return OkStatus();
  }));
  return LoadEvents();
}

Status HistoryStore::LoadEvents() {
  return database_->ForEach(kEventRow, [&](const store::DatabaseRow& row) -> Status {
    ASSIGN_OR_RETURN(const KeptRecord record, DecodeRecord(row));
    record_ = std::max<uint64_t>(record_, record.number);
    const StoredJobPtr job = JobOf(row.job);
    if (record.topic != EventTopic::kIssues) return OkStatus();
    ASSIGN_OR_RETURN(const IssueEvent event, cloudevents::DecodeCloudEvent(record.value));
    job->OnEvent(event);
    return OkStatus();
  });
}

Status HistoryStore::RestoreBoot(const store::DatabaseRow& row, StoredJob* job) const {
  ASSIGN_OR_RETURN(SourceMeta boot, DecodeBoot(row.body));
  job->telemetry().Restore(std::move(boot));
  return OkStatus();
}

Status HistoryStore::RestoreSchema(const store::DatabaseRow& row, StoredJob* job) const {
  ASSIGN_OR_RETURN(Schema schema, DecodeSchema(row));
  const SharedSchema shared(std::move(schema));
  schemas_.Add(row.job, shared);
  // Segments also contain derived schemas, but these follow from the received schemas.
  if (const auto made = NodeMeans::Of(*shared); made != nullptr)
    schemas_.Add(row.job, made->schema());
  job->telemetry().Restore(shared);
  return OkStatus();
}

StatusOr<uint64_t> HistoryStore::RestoreSegment(const store::DatabaseRow& row,
                                                StoredJob* job) const {
  BinaryReader in(row.body);
  SegmentMeta facts;
  facts.Restore(in);
  std::map<OriginKey, SequenceRanges> seen;
  for (size_t left = in.Count(3); left > 0 && in.ok(); --left) {
    std::string source = in.Str();
    std::string boot = in.Str();
    seen[{std::move(source), std::move(boot)}].Restore(in);
  }
  if (!in.AtEnd()) {  // earlier versions do not store this field
    facts.steps.Restore(in);
    facts.steps.RestorePages(in);
  }
  if (!in.AtEnd()) facts.metrics = RestorePage(in);  // earlier versions do not store this field
  RETURN_IF_ERROR(in.Finish("catalog segment"));
  const uint64_t generation = facts.generation;
  job->telemetry().windows().Restore(std::move(facts), std::move(seen));
  return generation;
}

Status HistoryStore::LoadJob(StoredJob* job) const {
  const Status loaded = RestoreJob(job);
  job->EndLoad(loaded);
  if (loaded.ok()) ++counters_.reloaded;
  return loaded;
}

Status HistoryStore::RestoreJob(StoredJob* job) const {
  using store::DatabaseRow;
  RETURN_IF_ERROR(database_->ForEachOf(
      kBootRow, job->id(), [&](const DatabaseRow& row) { return RestoreBoot(row, job); }));
  for (const RowKind kind : {kSchemaRow, kPackedSchemaRow}) {
    RETURN_IF_ERROR(database_->ForEachOf(
        kind, job->id(), [&](const DatabaseRow& row) { return RestoreSchema(row, job); }));
  }
  return database_->ForEachOf(kSegmentRow, job->id(), [&](const DatabaseRow& row) {
    return RestoreSegment(row, job).status();
  });
}

Status HistoryStore::Recover() {
  ASSIGN_OR_RETURN(const RecoveredSegments found, SegmentRecovery(this).Run());
  counters_.adopted = found.adopted;
  counters_.quarantined = found.quarantined;
  counters_.missing = found.missing;
  return OkStatus();
}

// Removes head files that remain from processes that exited between creating and unlinking a file.
Status HistoryStore::RemoveMemTableFiles() {
  ASSIGN_OR_RETURN(const auto names, files::ListDirectory(dir_));
  for (const std::string& name : names) {
    if (StartsWith(name, "head-") && EndsWith(name, ".tmp"))
      RETURN_IF_ERROR(files::Remove(Cat(dir_, "/", name)));
  }
  return OkStatus();
}

StoredJobPtr HistoryStore::Known(std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second;
}

JobLifePtr HistoryStore::LifeOf(std::string_view id) const {
  const StoredJobPtr job = Known(id);
  if (job == nullptr) return nullptr;
  MutexLock lock(&job->mutex());
  return job->SharedLife();
}

StatusOr<StoredJobPtr> HistoryStore::Find(std::string_view id) const {
  const StoredJobPtr job = Known(id);
  if (job == nullptr) return job;
  MutexLock lock(&job->mutex());
  if (!job->loaded()) RETURN_IF_ERROR(LoadJob(job.get()));
  return StoredJob::Pin(job);
}

StoredJobPtr HistoryStore::JobOf(const std::string& id) {
  MutexLock lock(&mutex_);
  StoredJobPtr& job = jobs_[id];
  if (job == nullptr) {
    job = std::make_shared<StoredJob>(id, ++jobs_version_);
  }
  return job;
}

StatusOr<StoredJobPtr> HistoryStore::FindOrAdd(const std::string& id) {
  StoredJobPtr job = JobOf(id);
  MutexLock lock(&job->mutex());
  if (!job->loaded()) RETURN_IF_ERROR(LoadJob(job.get()));
  return job;
}

bool HistoryStore::UnloadUnused(const StoredJobPtr& job) {
  MutexLock lock(&job->mutex());
  if (!job->Unload()) return false;
  schemas_.Remove(job->id());
  ++counters_.unloaded;
  return true;
}

std::vector<StoredJobPtr> HistoryStore::All() const {
  MutexLock lock(&mutex_);
  std::vector<StoredJobPtr> out;
  for (const auto& [id, job] : jobs_) out.push_back(job);
  return out;
}

void HistoryStore::Remove(const std::string& id) {
  MutexLock lock(&mutex_);
  jobs_.erase(id);
  std::erase_if(damage_, [&id](const auto& entry) { return entry.first.first == id; });
  ++jobs_version_;
  schemas_.Remove(id);
  cache_.Clear();  // frees all entries
}

std::string HistoryStore::PathOf(const SegmentMeta& facts) const {
  return Cat(FolderOf(*this, facts.job), "/", facts.window_ns / kNanosPerSecond, "-",
             facts.generation, ".seg");
}

StatusOr<std::shared_ptr<const WindowSegment>> HistoryStore::Segment(
    const SegmentMeta& facts) const {
  RETURN_IF_ERROR(CheckCanceled());
  const SegmentCache::Key key = SegmentCache::OpenKey(facts.generation);
  if (auto open = cache_.Find<WindowSegment>(key); open != nullptr) return open;
  const auto note = [this, facts](const Status& damage) {
    NoteDamage(facts, ToStd(damage.message()));
  };
  auto opened = WindowSegment::Open(PathOf(facts), &facts, {&cache_, &schemas_, note});
  if (absl::IsDataLoss(opened.status())) note(opened.status());
  RETURN_IF_ERROR(opened.status());
  std::shared_ptr<const WindowSegment> segment = *std::move(opened);
  cache_.Put(key, segment, segment->bytes());
  return segment;
}

void HistoryStore::NoteDamage(const SegmentMeta& facts, std::string_view what) const {
  MutexLock lock(&mutex_);
  damage_.try_emplace({facts.job, PathOf(facts)}, what);
}

Status HistoryStore::Damage() const {
  MutexLock lock(&mutex_);
  if (damage_.empty()) return OkStatus();
  const auto& [place, what] = *damage_.begin();
  return DataLoss(
      Cat("history: ", damage_.size(), damage_.size() == 1 ? " segment is" : " segments are",
          " missing or damaged (", what, "); restore the file from a backup or delete the job"));
}

void HistoryStore::Discard(const SegmentMeta& facts) {
  MutexLock lock(&mutex_);
  damage_.erase({facts.job, PathOf(facts)});
  discarded_.push_back(facts);
}

Status HistoryStore::Settle() {
  // The list is taken first, because partitions and retention call Settle concurrently.
  std::vector<SegmentMeta> gone;
  {
    MutexLock lock(&mutex_);
    gone.swap(discarded_);
  }
  Status status = database_->Settle();
  size_t removed = 0;
  for (; status.ok() && removed < gone.size(); ++removed) {
    status = files::Remove(PathOf(gone[removed]));
    if (!status.ok()) break;
    cache_.Erase(SegmentCache::OpenKey(gone[removed].generation));
  }
  if (status.ok()) return status;
  MutexLock lock(&mutex_);
  discarded_.insert(discarded_.begin(), gone.begin() + static_cast<int64_t>(removed), gone.end());
  return status;
}

store::DatabaseRow HistoryStore::SegmentRow(const SegmentMeta& facts,
                                            const std::map<OriginKey, SequenceRanges>& seen) const {
  BinaryWriter body;
  facts.Save(body);
  body.U64(seen.size());
  for (const auto& [key, ranges] : seen) {
    body.Str(key.first);
    body.Str(key.second);
    ranges.Save(body);
  }
  if (facts.steps.known) {
    facts.steps.Save(body);
    facts.steps.SavePages(body);
    if (facts.metrics.bytes > 0) SavePage(facts.metrics, body);
  }
  return {kSegmentRow, facts.job,
          NumberKey(static_cast<uint64_t>(facts.window_ns) ^ (uint64_t{1} << 63)), body.Take()};
}

std::map<std::string, Tombstone> HistoryStore::Tombstones() const {
  MutexLock lock(&mutex_);
  return tombstones_;
}

void HistoryStore::AddDeadLetter(const std::string& hash, const Tombstone& tombstone) {
  MutexLock lock(&mutex_);
  tombstones_[hash] = tombstone;
}

}  // namespace pitwall::history
