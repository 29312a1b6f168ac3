#include "services/history/ingest/partition/window_sealer.h"

#include <optional>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

StatusOr<std::unique_ptr<const FlushInput>> WindowSealer::Gather(const StoredJob& job,
                                                                 int64_t window_ns) const {
  const WindowEntry& window = job.windows().at(window_ns);
  std::shared_ptr<const WindowSegment> sealed;
  if (window.sealed.has_value()) {
    ASSIGN_OR_RETURN(sealed, store_->segments().Open(*window.sealed));
  }
  return FlushInput::Of(window.head.get(), std::move(sealed), &window.seen);
}

Status WindowSealer::Write(const StoredJob& job, const FlushInput& content, SegmentMeta* facts) {
  facts->job = job.id();
  facts->generation = store_->segments().NextGeneration();
  const std::string path = store_->segments().PathOf(*facts);
  RETURN_IF_ERROR(files::MakeDirectories(path.substr(0, path.rfind('/'))));
  return WriteWindow(path, content, &hints_[job.id()], facts, store_->faults());
}

Status WindowSealer::Adopt(const StoredJobPtr& job, const FlushInput& content,
                           const SegmentMeta& facts) {
  const int64_t window_ns = facts.window_ns;
  const std::optional<SegmentMeta> before = job->windows().at(window_ns).sealed;
  store::DatabaseChange change;
  change.put.push_back(SegmentRow(facts, content.seen()));
  if (Status saved = saver_->Save(std::move(change), job.get(), window_ns); !saved.ok()) {
    // If the removal fails, the next start removes the file, because the catalog does not reference
    // it.
    (void)files::Remove(store_->segments().PathOf(facts));
    return saved;
  }
  for (const FlushInput::Table& table : content.tables())
    store_->segments().schemas().Add(job->id(), table.schema);
  {
    MutexLock lock(&job->mutex());
    job->telemetry().windows().Seal(window_ns, facts);  // frees the head that `content` refers to
  }
  if (before.has_value()) store_->segments().Discard(*before);
  ++store_->counters().sealed;
  return OkStatus();
}

Status WindowSealer::SealWindow(const StoredJobPtr& job, int64_t window_ns) {
  SegmentMeta facts;
  facts.window_ns = window_ns;
  const auto content = Gather(*job, window_ns);
  const Status written = content.ok() ? Write(*job, **content, &facts) : content.status();
  if (absl::IsDataLoss(written) && job->windows().at(window_ns).sealed.has_value()) {
    GiveUp(job, window_ns, written);
    return OkStatus();
  }
  RETURN_IF_ERROR(content.status());
  const Status status = written.ok() ? Adopt(job, **content, facts) : written;
  if (!absl::IsResourceExhausted(status)) return status;
  // The disk is full, so the raw samples are dropped. Rollups, spans, and events are still written
  // while there is space for them.
  RETURN_IF_ERROR(SealWithoutRows(job, **content, window_ns));
  PITWALL_LOG(kWarning, "insights", "job ", Quote(job->id()),
              ": dropped the raw samples of the window that starts at Unix time ",
              window_ns / kNanosPerSecond, " and kept its rollups: ", ToStd(status.message()));
  return OkStatus();
}

Status WindowSealer::SealWithoutRows(const StoredJobPtr& job, const FlushInput& content,
                                     int64_t window_ns) {
  SegmentMeta facts;
  facts.window_ns = window_ns;
  facts.has_rows = false;
  facts.dropped_ns = clock_->WallNs();
  RETURN_IF_ERROR(Write(*job, content, &facts));
  RETURN_IF_ERROR(Adopt(job, content, facts));
  ++store_->counters().dropped_raw;
  return OkStatus();
}

void WindowSealer::GiveUp(const StoredJobPtr& job, int64_t window_ns, const Status& damage) {
  PITWALL_LOG(kError, "insights", "job ", Quote(job->id()),
              ": dropped late rows: ", ToStd(damage.message()));
  {
    MutexLock lock(&job->mutex());
    job->telemetry().windows().Seal(window_ns, SegmentMeta(*job->windows().at(window_ns).sealed));
  }
  control_->SetDamage(damage);
}

Status WindowSealer::DropRaw(const StoredJobPtr& job, int64_t window_ns) {
  ASSIGN_OR_RETURN(const auto content, Gather(*job, window_ns));
  return SealWithoutRows(job, *content, window_ns);
}

std::vector<int64_t> WindowSealer::Heads(const StoredJob& job) {
  std::vector<int64_t> heads;
  if (job.telemetry().windows().head_bytes() == 0)
    return heads;  // another thread may be loading the job
  for (const auto& [start, window] : job.windows()) {
    if (window.head != nullptr) heads.push_back(start);
  }
  return heads;
}

Status WindowSealer::SealJob(const StoredJobPtr& job) {
  for (const int64_t start : Heads(*job)) RETURN_IF_ERROR(SealWindow(job, start));
  return OkStatus();
}

}  // namespace pitwall::history
