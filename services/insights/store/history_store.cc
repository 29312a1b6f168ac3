#include "services/insights/store/history_store.h"

#include <algorithm>
#include <set>

#include "services/base/log.h"
#include "services/base/stable_hash.h"
#include "services/base/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/insights/segments/text_page.h"
#include "services/insights/windows/node_means.h"

namespace pitwall::insights {
namespace {

std::string SegmentsOf(const std::string& dir) { return dir + "/segments"; }
std::string FolderOf(const std::string& dir, std::string_view job) {
  return Cat(SegmentsOf(dir), "/", StableHashHex(job));
}

}  // namespace

StatusOr<std::unique_ptr<HistoryStore>> HistoryStore::Open(
    const std::string& dir, bool read_only, uint64_t first_place,
    std::shared_ptr<files::DiskFaults> faults, size_t cache_bytes) {
  std::unique_ptr<HistoryStore> out(
      new HistoryStore(dir, read_only, first_place, std::move(faults), cache_bytes));
  const std::string catalogue = dir + "/catalogue.db";
  if (!read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(SegmentsOf(dir)));
    ASSIGN_OR_RETURN(out->lock_, files::DirectoryLock::Take(dir));
  }
  const bool is_new = !files::Exists(catalogue);
  if (is_new && read_only) return NotFound(Cat(catalogue, ": missing; this is no history"));
  ASSIGN_OR_RETURN(out->database_, store::Database::Open(catalogue, read_only));
  if (is_new) RETURN_IF_ERROR(out->Adopt());
  RETURN_IF_ERROR(out->Load());
  if (!read_only) RETURN_IF_ERROR(out->RemoveUnknown());
  return out;
}

Status HistoryStore::Load() {
  using store::DatabaseRow;
  const Status walked = database_->ForEach(kTombstoneRow, [&](DatabaseRow row) -> Status {
    ASSIGN_OR_RETURN(const Tombstone tombstone, DecodeTombstone(row.body));
    Bury(row.key, tombstone);
    return OkStatus();
  });
  RETURN_IF_ERROR(walked);
  const Status walked2 = database_->ForEach(kBootRow, [&](DatabaseRow row) -> Status {
    ASSIGN_OR_RETURN(BootFacts boot, DecodeBoot(row.body));
    FindOrAdd(row.job)->Restore(std::move(boot));
    return OkStatus();
  });
  RETURN_IF_ERROR(walked2);
  for (const RowKind kind : {kSchemaRow, kPackedSchemaRow}) {
    const Status walked3 = database_->ForEach(kind, [&](const DatabaseRow& row) -> Status {
      ASSIGN_OR_RETURN(Schema schema, DecodeSchema(row));
      const SharedSchema shared(std::move(schema));
      schemas_.Add(row.job, shared);
      // Segments have made ones as well, which follow from those that were sent.
      if (const auto made = NodeMeans::Of(*shared); made != nullptr)
        schemas_.Add(row.job, made->schema());
      FindOrAdd(row.job)->Restore(shared);
      return OkStatus();
    });
    RETURN_IF_ERROR(walked3);
  }
  const Status walked4 = database_->ForEach(kSegmentRow, [&](DatabaseRow row) -> Status {
    BinaryReader in(row.body);
    SegmentFacts facts;
    facts.Restore(in);
    std::map<OriginKey, SequenceRanges> seen;
    for (size_t left = in.Count(3); left > 0 && in.ok(); --left) {
      std::string source = in.Str();
      std::string boot = in.Str();
      seen[{std::move(source), std::move(boot)}].Restore(in);
    }
    if (!in.AtEnd()) {  // earlier versions did not keep them
      facts.steps.Restore(in);
      facts.steps.RestorePages(in);
    }
    if (!in.AtEnd()) facts.metrics = RestorePage(in);  // nor this one
    RETURN_IF_ERROR(in.Finish("a segment of the catalogue"));
    generation_ = std::max<uint64_t>(generation_, facts.generation);
    FindOrAdd(row.job)->Restore(std::move(facts), std::move(seen));
    return OkStatus();
  });
  RETURN_IF_ERROR(walked4);
  return database_->ForEach(kEventRow, [&](DatabaseRow row) -> Status {
    ASSIGN_OR_RETURN(const KeptRecord record, DecodeRecord(row));
    record_ = std::max<uint64_t>(record_, record.number);
    const KeptJobPtr job = FindOrAdd(row.job);
    if (record.topic != EventTopic::kIssues) return OkStatus();
    ASSIGN_OR_RETURN(const IssueEvent event, cloudevents::DecodeCloudEvent(record.value));
    job->RestoreEvent(event);
    return OkStatus();
  });
}

Status HistoryStore::Adopt() {
  SchemaPool shared;  // all windows are open at once, and most of a job have the same
  std::map<std::pair<std::string, int64_t>, std::shared_ptr<const WindowSegment>> newest;
  ASSIGN_OR_RETURN(const auto folders, files::ListDirectory(SegmentsOf(dir_)));
  size_t damaged = 0;
  for (const std::string& folder : folders) {
    ASSIGN_OR_RETURN(const auto names, files::ListDirectory(Cat(SegmentsOf(dir_), "/", folder)));
    for (const std::string& name : names) {
      if (!EndsWith(name, ".seg")) continue;
      auto segment = WindowSegment::Open(Cat(SegmentsOf(dir_), "/", folder, "/", name), nullptr,
                                         {nullptr, &shared});
      if (!segment.ok()) {
        ++damaged;
        PITWALL_LOG(kWarning, "insights", ToStd(segment.status().message()));
        continue;
      }
      auto& known = newest[{(*segment)->facts().job, (*segment)->facts().window_ns}];
      if (known == nullptr || known->facts().generation < (*segment)->facts().generation)
        known = *segment;
    }
  }
  if (newest.empty()) return OkStatus();
  PITWALL_LOG(kWarning, "insights", dir_, ": the catalogue is missing: made again out of ",
              newest.size(), " segments (", damaged,
              " damaged ones are left out); the log is read from its start, and events that it no "
              "longer holds, and which jobs were deleted, are not known any more");
  store::DatabaseChange change;
  std::set<std::pair<std::string, uint64_t>> schemas;  // most windows of a job have the same
  for (const auto& [key, segment] : newest) {
    SegmentFacts facts = segment->facts();
    ASSIGN_OR_RETURN(const std::string whole, files::ReadWhole(PathOf(facts), size_t{1} << 40));
    facts.bytes = whole.size();
    ASSIGN_OR_RETURN(const auto seen, segment->ReadSeen());
    change.put.push_back(SegmentRow(facts, seen));
    for (const SharedSchema& schema : segment->schemas()) {
      if (!schemas.emplace(facts.job, schema->id).second) continue;
      ASSIGN_OR_RETURN(store::DatabaseRow row, PackedSchemaRow(facts.job, *schema));
      change.put.push_back(std::move(row));
    }
  }
  return database_->Apply(change);
}

Status HistoryStore::RemoveUnknown() {
  std::set<std::string> known;
  for (const KeptJobPtr& job : All()) {
    for (const auto& [start, window] : job->windows()) {
      if (window.sealed.has_value()) known.insert(PathOf(*window.sealed));
    }
  }
  ASSIGN_OR_RETURN(const auto folders, files::ListDirectory(SegmentsOf(dir_)));
  for (const std::string& folder : folders) {
    const std::string path = Cat(SegmentsOf(dir_), "/", folder);
    ASSIGN_OR_RETURN(const auto names, files::ListDirectory(path));
    size_t left = names.size();
    for (const std::string& name : names) {
      if (known.contains(Cat(path, "/", name))) continue;
      RETURN_IF_ERROR(files::Remove(Cat(path, "/", name)));
      --left;
    }
    if (left == 0) RETURN_IF_ERROR(files::RemoveTree(path));
  }
  // A head's file whose process ended between making it and taking its name away.
  ASSIGN_OR_RETURN(const auto names, files::ListDirectory(dir_));
  for (const std::string& name : names) {
    if (StartsWith(name, "head-") && EndsWith(name, ".tmp"))
      RETURN_IF_ERROR(files::Remove(Cat(dir_, "/", name)));
  }
  return OkStatus();
}

KeptJobPtr HistoryStore::Find(std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second;
}

KeptJobPtr HistoryStore::FindOrAdd(const std::string& id) {
  MutexLock lock(&mutex_);
  KeptJobPtr& job = jobs_[id];
  if (job == nullptr) {
    job = std::make_shared<KeptJob>(id, ++jobs_version_);
  }
  return job;
}

std::vector<KeptJobPtr> HistoryStore::All() const {
  MutexLock lock(&mutex_);
  std::vector<KeptJobPtr> out;
  for (const auto& [id, job] : jobs_) out.push_back(job);
  return out;
}

void HistoryStore::Remove(const std::string& id) {
  MutexLock lock(&mutex_);
  jobs_.erase(id);
  ++jobs_version_;
  schemas_.Remove(id);
  cache_.Clear();  // nothing of it stays
}

std::string HistoryStore::PathOf(const SegmentFacts& facts) const {
  return Cat(FolderOf(dir_, facts.job), "/", facts.window_ns / kNanosPerSecond, "-",
             facts.generation, ".seg");
}

StatusOr<std::shared_ptr<const WindowSegment>> HistoryStore::Segment(
    const SegmentFacts& facts) const {
  const SegmentCache::Key key = SegmentCache::OpenKey(facts.generation);
  if (auto open = cache_.Find<WindowSegment>(key); open != nullptr) return open;
  ASSIGN_OR_RETURN(std::shared_ptr<const WindowSegment> segment,
                   WindowSegment::Open(PathOf(facts), &facts, {&cache_, &schemas_}));
  cache_.Put(key, segment, segment->bytes());
  return segment;
}

void HistoryStore::Discard(const SegmentFacts& facts) {
  MutexLock lock(&mutex_);
  discarded_.push_back(facts);
}

Status HistoryStore::Settle() {
  std::vector<SegmentFacts> gone;
  {
    MutexLock lock(&mutex_);
    gone = discarded_;
  }
  RETURN_IF_ERROR(database_->Settle());
  for (const SegmentFacts& facts : gone) {
    RETURN_IF_ERROR(files::Remove(PathOf(facts)));
    cache_.Erase(SegmentCache::OpenKey(facts.generation));
  }
  MutexLock lock(&mutex_);
  discarded_.erase(discarded_.begin(), discarded_.begin() + static_cast<int64_t>(gone.size()));
  return OkStatus();
}

store::DatabaseRow HistoryStore::SegmentRow(const SegmentFacts& facts,
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

void HistoryStore::Bury(const std::string& hash, const Tombstone& tombstone) {
  MutexLock lock(&mutex_);
  tombstones_[hash] = tombstone;
}

}  // namespace pitwall::insights
