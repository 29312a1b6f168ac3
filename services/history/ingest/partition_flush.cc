// Saves and seals the jobs of a partition.
#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/ingest/partition_ingest.h"
#include "services/history/store/segment_recovery.h"

namespace pitwall::history {
namespace {

constexpr int64_t kSettleNs = 60 * kNanosPerSecond;
// Minimum delay between two seals of a window with late rows, so that the window is not sealed for
// each row.
constexpr int64_t kLateNs = 10 * kNanosPerSecond;
// Size of a head file. The file is freed once all of its windows are sealed. It must be small
// enough to be freed soon and large enough to limit the number of files.
constexpr int64_t kMemTableFileBytes = int64_t{128} << 20;
// Moving rows is worthwhile if the movable rows use at least 1/kMinMovable of the memory share.
constexpr size_t kMinMovable = 8;
// Typical number of unread records in a partition with many jobs.
constexpr int64_t kFewRecords = 1000;

}  // namespace

// Returns the jobs of this partition. The function is called several times per round, so it
// rebuilds the list only if a job was added or removed.
PartitionIngest::JobList PartitionIngest::Jobs() {
  const uint64_t version = store_->jobs_version();
  if (jobs_ != nullptr && version == jobs_version_) return jobs_;
  std::vector<StoredJobPtr> jobs = store_->All();
  std::erase_if(jobs, [this](const StoredJobPtr& job) {
    return PartitionOf(job->id(), partitions_) != partition_;
  });
  jobs_ = std::make_shared<const std::vector<StoredJobPtr>>(std::move(jobs));
  jobs_version_ = version;
  return jobs_;
}

void PartitionIngest::PutPositions(const StoredJob* sealed_job, int64_t sealed_window,
                                   store::DatabaseChange* change) {
  const JobList jobs = Jobs();
  for (const Input& input : inputs_) {
    if (input.reader == nullptr || input.mark.offset < 0) continue;
    ReadPosition position{input.reader->position(), input.mark};
    if (&input == inputs_.data()) {
      for (const StoredJobPtr& job : *jobs) {
        if (job->telemetry().windows().head_bytes() == 0) continue;  // all rows are sealed
        for (const auto& [start, window] : job->windows()) {
          if (job.get() == sealed_job && start == sealed_window) continue;
          position.offset = std::min(position.offset, window.first_offset);
        }
      }
    }
    change->put.push_back({kPositionRow, "",
                           Cat(input.at.topic, "/", input.at.partition, "/", partition_),
                           EncodePosition(position)});
  }
}

Status PartitionIngest::Save(store::DatabaseChange change) {
  const JobList jobs = Jobs();
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

Status PartitionIngest::SaveIfDue(bool force) {
  const int64_t now = clock_->MonotonicNs();
  if (!force && now - saved_ns_ < options_.save_interval_ns) return OkStatus();
  const JobList jobs = Jobs();
  const bool dirty =
      std::any_of(jobs->begin(), jobs->end(), [](const StoredJobPtr& job) { return job->dirty(); });
  const int64_t telemetry = inputs_[0].reader == nullptr ? -1 : inputs_[0].reader->position();
  if (inputs_[0].reader != nullptr) {
    const StatusOr<int64_t> end = inputs_[0].reader->EndOffset();
    if (end.ok()) lag_ = std::max<int64_t>(0, *end - telemetry);
  }
  if (!dirty && telemetry == saved_telemetry_) {
    saved_ns_ = now;
    return OkStatus();
  }
  store::DatabaseChange change;
  PutPositions(nullptr, 0, &change);
  RETURN_IF_ERROR(Save(std::move(change)));
  saved_telemetry_ = telemetry;
  if (now - settled_ns_ >= kSettleNs) {
    settled_ns_ = now;
    RETURN_IF_ERROR(store_->Settle());
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<const FlushInput>> PartitionIngest::Gather(const StoredJob& job,
                                                                    int64_t window_ns) const {
  const WindowEntry& window = job.windows().at(window_ns);
  std::shared_ptr<const WindowSegment> sealed;
  if (window.sealed.has_value()) {
    ASSIGN_OR_RETURN(sealed, store_->segments().Open(*window.sealed));
  }
  return FlushInput::Of(window.head.get(), std::move(sealed), &window.seen);
}

Status PartitionIngest::Write(const StoredJob& job, const FlushInput& content, SegmentMeta* facts) {
  facts->job = job.id();
  facts->generation = store_->segments().NextGeneration();
  const std::string path = store_->segments().PathOf(*facts);
  RETURN_IF_ERROR(files::MakeDirectories(path.substr(0, path.rfind('/'))));
  return WriteWindow(path, content, &hints_[job.id()], facts, store_->faults());
}

Status PartitionIngest::Adopt(const StoredJobPtr& job, const FlushInput& content,
                              const SegmentMeta& facts) {
  const int64_t window_ns = facts.window_ns;
  const std::optional<SegmentMeta> before = job->windows().at(window_ns).sealed;
  store::DatabaseChange change;
  change.put.push_back(SegmentRow(facts, content.seen()));
  PutPositions(job.get(), window_ns, &change);
  if (Status saved = Save(std::move(change)); !saved.ok()) {
    // If the removal fails, the next start removes the file, because the catalog does not reference
    // it.
    (void)files::Remove(store_->segments().PathOf(facts));
    return saved;
  }
  for (const FlushInput::Table& table : content.tables())
    store_->segments().schemas().Add(job->id(), table.schema);
  {
    MutexLock lock(&job->mutex());
    job->telemetry().windows().Seal(window_ns, facts);  // frees the head, to which `content` refers
  }
  if (before.has_value()) store_->segments().Discard(*before);
  ++store_->counters().sealed;
  return OkStatus();
}

Status PartitionIngest::SealWindow(const StoredJobPtr& job, int64_t window_ns) {
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

Status PartitionIngest::SealWithoutRows(const StoredJobPtr& job, const FlushInput& content,
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

void PartitionIngest::GiveUp(const StoredJobPtr& job, int64_t window_ns, const Status& damage) {
  PITWALL_LOG(kError, "insights", "job ", Quote(job->id()),
              ": dropped late rows: ", ToStd(damage.message()));
  {
    MutexLock lock(&job->mutex());
    job->telemetry().windows().Seal(window_ns, SegmentMeta(*job->windows().at(window_ns).sealed));
  }
  MutexLock lock(&mutex_);
  damage_ = damage;
}

Status PartitionIngest::DropRaw(const StoredJobPtr& job, int64_t window_ns) {
  ASSIGN_OR_RETURN(const auto content, Gather(*job, window_ns));
  return SealWithoutRows(job, *content, window_ns);
}

std::vector<int64_t> PartitionIngest::Heads(const StoredJob& job) {
  std::vector<int64_t> heads;
  if (job.telemetry().windows().head_bytes() == 0)
    return heads;  // another thread may be loading the job
  for (const auto& [start, window] : job.windows()) {
    if (window.head != nullptr) heads.push_back(start);
  }
  return heads;
}

Status PartitionIngest::SealJob(const StoredJobPtr& job) {
  for (const int64_t start : Heads(*job)) RETURN_IF_ERROR(SealWindow(job, start));
  return OkStatus();
}

// Seals windows for at most stop_ns. After a backlog, many rows may remain in memory, but all of
// them are also in the log.
Status PartitionIngest::SaveAtStop() {
  const int64_t deadline = clock_->MonotonicNs() + options_.stop_ns;
  size_t left = 0;
  const JobList jobs = Jobs();
  for (const StoredJobPtr& job : *jobs) {
    for (const int64_t start : Heads(*job)) {
      if (clock_->MonotonicNs() >= deadline) {
        ++left;
      } else {
        RETURN_IF_ERROR(SealWindow(job, start));
      }
    }
  }
  if (left > 0) {
    PITWALL_LOG(
        kInfo, "insights", "partition ", partition_, ": ", left,
        left == 1 ? " window was" : " windows were",
        " not sealed before the stop timeout; the next start reads their rows from the log");
  }
  RETURN_IF_ERROR(SaveIfDue(true));
  return store_->Settle();
}

// Returns whether many telemetry records are unread. There are few event records, so during
// catch-up, a job's end is read long before its telemetry. If that end caused windows to be sealed,
// each later row would cause them to be sealed again.
bool PartitionIngest::Behind() const { return !caught_up_ || lag_ > kFewRecords; }

Status PartitionIngest::SealDue() {
  const int64_t now = clock_->MonotonicNs();
  const size_t share = MemoryShare();
  const bool pressed = head_bytes_ > share;
  if (!pressed && now - sealed_ns_ < kNanosPerSecond) return OkStatus();
  sealed_ns_ = now;
  Status first_fault;
  Heavy largest;
  std::vector<Heavy> to_move;
  size_t movable = 0;
  const JobList jobs = Jobs();
  for (const StoredJobPtr& job : *jobs) {
    if (job->telemetry().waiting()) {
      MutexLock lock(&job->mutex());
      job->telemetry().GiveUpWaiting(now - options_.schema_wait_ns, &counts_);
    }
    if (job->telemetry().windows().head_bytes() == 0) continue;
    // Rows that wait for their schema count as seen, so the window must not be sealed without them.
    if (job->telemetry().waiting()) continue;
    std::vector<int64_t> due;
    for (const auto& [start, window] : job->windows()) {
      if (window.head == nullptr) continue;
      const bool over = job->IsOver(start, options_.grace_ns, Behind());
      const int64_t age = now - window.head_since_ns;
      if ((over && age >= kLateNs) || age >= options_.seal_after_ns) {
        due.push_back(start);
      } else if (pressed) {
        if (window.head->bytes() > largest.bytes) largest = {job, start, window.head->bytes()};
        to_move.push_back({job, start, window.head->movable_bytes()});
        movable += to_move.back().bytes;
      }
    }
    for (const int64_t start : due) {
      const Status sealed = SealWindow(job, start);
      if (first_fault.ok()) first_fault = sealed;
    }
  }
  RETURN_IF_ERROR(first_fault);
  NoteMemory();
  if (head_bytes_ <= share || largest.job == nullptr) return OkStatus();
  // Sealing a window twice writes all of its rows twice. Rows are therefore moved to a file first,
  // as long as movable rows use enough of the memory.
  if (movable >= share / kMinMovable && MoveMost(std::move(to_move), share)) return OkStatus();
  return SealWindow(largest.job, largest.window_ns);  // also handles a full disk
}

// Moves several windows at a time, so that memory stays free for a while. Scanning all windows
// takes as long as moving a few.
bool PartitionIngest::MoveMost(std::vector<Heavy> windows, size_t share) {
  std::sort(windows.begin(), windows.end(),
            [](const Heavy& a, const Heavy& b) { return a.bytes > b.bytes; });
  size_t left = head_bytes_;
  bool moved = false;
  for (const Heavy& window : windows) {
    if (left <= share - share / kMinMovable || window.bytes == 0) break;
    if (!MoveRows(window.job, window.window_ns).ok()) break;
    left -= std::min(left, window.bytes);
    moved = true;
  }
  NoteMemory();
  return moved;
}

Status PartitionIngest::MoveRows(const StoredJobPtr& job, int64_t window_ns) {
  Status moved;
  if (head_file_ == nullptr || head_file_->size() > kMemTableFileBytes) {
    const std::string path =
        Cat(store_->dir(), "/head-", partition_, "-", store_->segments().NextGeneration(), ".tmp");
    StatusOr<std::shared_ptr<MemTableFile>> file = MemTableFile::Create(path, store_->faults());
    moved = file.status();
    if (file.ok()) head_file_ = *std::move(file);
  }
  if (moved.ok()) {
    MutexLock lock(&job->mutex());
    moved = job->telemetry().windows().MoveHead(window_ns, head_file_);
  }
  return moved;
}

Status PartitionIngest::DeleteJob(const StoredJobPtr& job) {
  Tombstone tombstone;
  int64_t* const offsets[] = {&tombstone.telemetry, &tombstone.issues, &tombstone.actions,
                              &tombstone.captures, &tombstone.notifications};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].reader != nullptr) *offsets[i] = inputs_[i].reader->position();
  }
  const std::string hash = StableHashHex(job->id());
  store::DatabaseChange change;
  change.removed_jobs.push_back(job->id());
  change.put.push_back({kTombstoneRow, "", hash, EncodeTombstone(tombstone)});
  const std::string folder = Cat(store_->segments().dir(), "/", hash);
  const std::string doomed = Cat(folder, kDeletedSuffix);
  // If the process crashes, a folder with this name remains, and the next start completes or
  // reverts the deletion.
  RETURN_IF_ERROR(files::RemoveTree(doomed));
  const Status renamed = files::Rename(folder, doomed);
  const bool sealed = !absl::IsNotFound(renamed);
  if (sealed) RETURN_IF_ERROR(renamed);
  if (const Status applied = store_->database().Apply(change); !applied.ok()) {
    if (sealed) RETURN_IF_ERROR(files::Rename(doomed, folder));
    return applied;
  }
  store_->AddDeadLetter(hash, tombstone);
  tombstones_[hash] = tombstone;
  hints_.erase(job->id());
  store_->Remove(job->id());
  ++store_->counters().removed_jobs;
  RETURN_IF_ERROR(files::RemoveTree(doomed));
  return store_->Settle();
}

}  // namespace pitwall::history
