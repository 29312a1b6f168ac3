#include "services/history/store/segment_recovery.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/windows/node_means.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxReports = 20;  // maximum log lines per start; a summary covers the rest

// Parsed form of "<start in seconds>-<generation>.seg".
struct SegmentName {
  int64_t start_s = 0;
  uint64_t generation = 0;
};
std::optional<SegmentName> ParseSegmentName(std::string_view name) {
  if (!EndsWith(name, ".seg")) return std::nullopt;
  name.remove_suffix(4);
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  SegmentName out;
  const auto parse = [](std::string_view text, auto* number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (!parse(name.substr(0, dash), &out.start_s)) return std::nullopt;
  if (!parse(name.substr(dash + 1), &out.generation)) return std::nullopt;
  return out;
}

// Returns true for machine errors (possibly temporary), and false for file errors.
bool MayPass(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
         absl::IsPermissionDenied(status);
}

// Returns whether `after` contains every batch of `before`.
StatusOr<bool> Covers(const WindowSegment& after, const WindowSegment& before) {
  ASSIGN_OR_RETURN(const auto newer, after.ReadSeen());
  ASSIGN_OR_RETURN(const auto older, before.ReadSeen());
  return std::ranges::all_of(older, [&](const auto& entry) {
    const auto at = newer.find(entry.first);
    return at != newer.end() && at->second.Covers(entry.second);
  });
}

// Returns the facts about boots that the segment contains. Later batches add the rest.
std::vector<SourceMeta> BootsOf(const WindowSegment& segment) {
  std::map<OriginKey, SourceMeta> boots;
  for (const RowsTable& table : segment.rows().Descriptions()) {
    SourceMeta& boot = boots[{table.origin->source, table.origin->boot}];
    boot.origin = table.origin;
    boot.first_ns = std::min(boot.first_ns, table.first_ns);
    boot.last_ns = std::max(boot.last_ns, table.last_ns);
  }
  for (const OriginPtr& origin : segment.origins()) {
    SourceMeta& boot = boots[{origin->source, origin->boot}];
    if (boot.origin != nullptr) continue;
    boot.origin = origin;
    boot.first_ns = segment.facts().window_ns;
    boot.last_ns = segment.facts().window_ns + kWindowNs - 1;
  }
  std::vector<SourceMeta> out;
  for (auto& [key, boot] : boots) {
    boot.start_ns = boot.first_ns;
    out.push_back(std::move(boot));
  }
  return out;
}

}  // namespace

StatusOr<RecoveredSegments> SegmentRecovery::Run() {
  RETURN_IF_ERROR(FinishDeletions());
  RETURN_IF_ERROR(ScanNamed());
  ASSIGN_OR_RETURN(const auto folders, files::ListDirectory(store_.segments().dir()));
  for (const std::string& folder : folders) {
    const std::string path = Cat(store_.segments().dir(), "/", folder);
    if (files::IsDirectory(path)) RETURN_IF_ERROR(ScanFolder(path));
  }
  // Windows for which another segment was adopted do not count as missing.
  found_.missing = missing_.size();
  for (const auto& [key, what] : missing_) store_.segments().NoteDamage(named_.at(key), what);
  const size_t changes = found_.adopted + found_.quarantined + found_.missing;
  if (changes > 0) {
    PITWALL_LOG(kWarning, "insights", store_.dir(), ": the catalog does not match the segments (",
                found_.adopted, " adopted, ", found_.quarantined, " moved to ", kQuarantineFolder,
                "/, ", found_.missing,
                " missing); it was lost or replaced by an older copy. Missing events and "
                "deletions are read from the log if it still contains them");
  }
  return found_;
}

// Completes or reverts interrupted deletions. A deletion renames the folder, commits the tombstone,
// and then removes the folder. If there is no tombstone, either the commit did not happen or the
// catalog is an older copy, so the segments are kept.
Status SegmentRecovery::FinishDeletions() {
  const std::map<std::string, Tombstone> tombstones = store_.Tombstones();
  ASSIGN_OR_RETURN(const auto folders, files::ListDirectory(store_.segments().dir()));
  for (const std::string& folder : folders) {
    if (!EndsWith(folder, kDeletedSuffix)) continue;
    const std::string from = Cat(store_.segments().dir(), "/", folder);
    const std::string hash =
        folder.substr(0, folder.size() - std::string_view(kDeletedSuffix).size());
    if (tombstones.contains(hash)) {
      RETURN_IF_ERROR(files::RemoveTree(from));
      continue;
    }
    const std::string to = Cat(store_.segments().dir(), "/", hash);
    RETURN_IF_ERROR(files::MakeDirectories(to));
    ASSIGN_OR_RETURN(const auto names, files::ListDirectory(from));
    for (const std::string& name : names)
      RETURN_IF_ERROR(files::Rename(Cat(from, "/", name), Cat(to, "/", name)));
    RETURN_IF_ERROR(files::RemoveTree(from));
    Report(Cat(to, ": restored; the catalog does not contain its deletion"));
  }
  return OkStatus();
}

Status SegmentRecovery::ScanNamed() {
  for (const StoredJobPtr& job : store_.All()) {
    for (const auto& [start, window] : job->windows()) {
      if (!window.sealed.has_value()) continue;
      const std::string path = store_.segments().PathOf(*window.sealed);
      named_[{job->id(), start}] = *window.sealed;
      named_paths_.insert(path);
      ASSIGN_OR_RETURN(const int64_t bytes, files::RegularFileBytes(path));
      if (bytes == static_cast<int64_t>(window.sealed->bytes)) continue;
      const std::string what = bytes < 0 ? Cat(path, ": missing")
                                         : Cat(path, ": ", bytes, " bytes (the catalog expects ",
                                               window.sealed->bytes, ")");
      missing_[{job->id(), start}] = what;
      Report(what);
    }
  }
  return OkStatus();
}

Status SegmentRecovery::ScanFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const auto names, files::ListDirectory(folder));
  Candidates candidates;
  bool used = false;
  for (const std::string& name : names) {
    std::string path = Cat(folder, "/", name);
    if (EndsWith(name, ".part")) {  // a partial file that was never renamed to a segment
      RETURN_IF_ERROR(files::Remove(path));
      continue;
    }
    const auto parsed = ParseSegmentName(name);
    if (parsed.has_value()) store_.segments().RaiseGeneration(parsed->generation);
    if (named_paths_.contains(path)) {
      used = true;
    } else if (parsed.has_value()) {
      candidates[parsed->start_s].push_back({std::move(path), parsed->generation});
    } else {
      RETURN_IF_ERROR(Quarantine(path, "not a segment file name"));
    }
  }
  for (auto& [start, files] : candidates) RETURN_IF_ERROR(Settle(std::move(files)));
  if (used) return OkStatus();
  ASSIGN_OR_RETURN(const auto left, files::ListDirectory(folder));
  return left.empty() ? files::RemoveTree(folder) : OkStatus();
}

Status SegmentRecovery::Settle(std::vector<Candidate> candidates) {
  std::ranges::sort(candidates, std::greater<>(), &Candidate::generation);
  for (const Candidate& candidate : candidates) {
    const auto opened = WindowSegment::Open(candidate.path, nullptr);
    if (MayPass(opened.status())) return opened.status();
    if (!opened.ok()) {
      RETURN_IF_ERROR(Quarantine(candidate.path, ToStd(opened.status().message())));
      continue;
    }
    const SegmentMeta& facts = (*opened)->facts();
    if (store_.segments().PathOf(facts) != candidate.path) {
      RETURN_IF_ERROR(Quarantine(candidate.path, "content does not match the file name"));
      continue;
    }
    ASSIGN_OR_RETURN(const auto named, OpenNamed({facts.job, facts.window_ns}));
    if (named == nullptr) {
      RETURN_IF_ERROR(Adopt(**opened, candidate.path));
      continue;
    }
    const bool is_newer = facts.generation > named->facts().generation;
    ASSIGN_OR_RETURN(const bool covered,
                     is_newer ? Covers(**opened, *named) : Covers(*named, **opened));
    if (!covered) {
      RETURN_IF_ERROR(Quarantine(candidate.path, "differs from the segment in the catalog"));
    } else if (is_newer) {
      const std::string before = named->path();
      RETURN_IF_ERROR(Adopt(**opened, candidate.path));
      RETURN_IF_ERROR(Supersede(before));
    } else {
      RETURN_IF_ERROR(Supersede(candidate.path));
    }
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const WindowSegment>> SegmentRecovery::OpenNamed(
    const WindowKey& key) const {
  const auto at = named_.find(key);
  if (at == named_.end()) return std::shared_ptr<const WindowSegment>();
  auto opened = WindowSegment::Open(store_.segments().PathOf(at->second), &at->second);
  if (MayPass(opened.status())) return opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

Status SegmentRecovery::Adopt(const WindowSegment& segment, const std::string& path) {
  SegmentMeta facts = segment.facts();
  ASSIGN_OR_RETURN(const int64_t bytes, files::RegularFileBytes(path));
  facts.bytes = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  ASSIGN_OR_RETURN(auto seen, segment.ReadSeen());
  store::DatabaseChange change;
  change.put.push_back(SegmentRow(facts, seen));
  std::vector<SharedSchema> added;
  for (const SharedSchema& schema : segment.schemas()) {
    if (!schemas_.emplace(facts.job, schema->id).second) continue;
    ASSIGN_OR_RETURN(store::DatabaseRow row, PackedSchemaRow(facts.job, *schema));
    change.put.push_back(std::move(row));
    added.push_back(schema);
  }
  ASSIGN_OR_RETURN(const StoredJobPtr job, store_.FindOrAdd(facts.job));
  for (const SourceMeta& boot : BootsOf(segment)) {
    change.put.push_back({kBootRow, facts.job, BootKey(*boot.origin),
                          EncodeBoot(job->telemetry().RestoreSeen(boot))});
  }
  RETURN_IF_ERROR(store_.database().Apply(change));
  for (const SharedSchema& schema : added) {
    store_.segments().schemas().Add(facts.job, schema);
    if (const auto made = NodeMeans::Of(*schema); made != nullptr)
      store_.segments().schemas().Add(facts.job, made->schema());
    job->telemetry().Restore(schema);
  }
  ++found_.adopted;
  Report(Cat(path, ": adopted; the catalog did not list it"));
  named_[{facts.job, facts.window_ns}] = facts;
  missing_.erase({facts.job, facts.window_ns});
  job->telemetry().windows().Restore(std::move(facts), std::move(seen));
  return OkStatus();
}

Status SegmentRecovery::Supersede(const std::string& path) {
  ++found_.superseded;
  return files::Remove(path);
}

Status SegmentRecovery::Quarantine(const std::string& path, std::string_view reason) {
  const std::string folder = Cat(store_.dir(), "/", kQuarantineFolder);
  RETURN_IF_ERROR(files::MakeDirectories(folder));
  const size_t name = path.rfind('/');
  const size_t job = path.rfind('/', name - 1);
  const std::string base =
      Cat(folder, "/", path.substr(job + 1, name - job - 1), "-", path.substr(name + 1));
  std::string to = base;
  for (size_t copy = 1; files::Exists(to); ++copy) to = Cat(base, ".", copy);
  RETURN_IF_ERROR(files::Rename(path, to));
  ++found_.quarantined;
  Report(Cat(path, ": moved to ", to, " (", reason, ")"));
  return OkStatus();
}

void SegmentRecovery::Report(std::string_view line) {
  if (reports_ < kMaxReports) PITWALL_LOG(kWarning, "insights", line);
  if (++reports_ == kMaxReports)
    PITWALL_LOG(kWarning, "insights",
                "too many segments to log individually; the rest are only counted");
}

}  // namespace pitwall::history
