#include "services/history/ingest/partition/seal_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

// Minimum age of late rows before their window is sealed, so that it is not resealed for every row.
constexpr int64_t kLateNs = 10 * kNanosPerSecond;
// Size of a head file. The file is freed once all of its windows are sealed. It must be small
// enough to be freed soon and large enough to limit the number of files.
constexpr int64_t kMemTableFileBytes = int64_t{128} << 20;
// Moving rows is worthwhile if the movable rows use at least 1/kMinMovable of the memory share.
constexpr size_t kMinMovable = 8;

}  // namespace

SealSchedule::SealSchedule(Clock* clock, HistoryStore* store, PartitionJobs* jobs,
                           IngestInputs* inputs, WindowSealer* sealer,
                           const HistoryOptions& options, int32_t partition, size_t share)
    : clock_(clock),
      store_(store),
      jobs_(jobs),
      inputs_(inputs),
      sealer_(sealer),
      options_(options),
      partition_(partition),
      share_(share) {}

Status SealSchedule::SealDue(IngestCounts* counts) {
  const int64_t now = clock_->MonotonicNs();
  const bool pressed = head_bytes_ > share_;
  if (!pressed && now - sealed_ns_ < kNanosPerSecond) return OkStatus();
  sealed_ns_ = now;
  Status first_fault;
  Candidates candidates;
  const PartitionJobs::List jobs = jobs_->All();
  for (const StoredJobPtr& job : *jobs) {
    if (job->telemetry().waiting()) {
      MutexLock lock(&job->mutex());
      job->telemetry().GiveUpWaiting(now - options_.schema_wait_ns, counts);
    }
    if (job->telemetry().windows().head_bytes() == 0) continue;
    // Rows waiting for their schema are already marked as seen, so the window must not be sealed
    // without them.
    if (job->telemetry().waiting()) continue;
    const Status sealed = SealJobIfDue(job, now, pressed ? &candidates : nullptr);
    if (first_fault.ok()) first_fault = sealed;
  }
  RETURN_IF_ERROR(first_fault);
  NoteMemory();
  const Heavy& largest = candidates.largest;
  if (head_bytes_ <= share_ || largest.job == nullptr) return OkStatus();
  // Sealing a window twice writes all of its rows twice. Rows are therefore moved to a file first,
  // if movable rows use enough of the memory.
  if (candidates.movable >= share_ / kMinMovable && MoveMost(std::move(candidates.to_move)))
    return OkStatus();
  return sealer_->SealWindow(largest.job, largest.window_ns);  // also handles a full disk
}

Status SealSchedule::SealJobIfDue(const StoredJobPtr& job, int64_t now_ns, Candidates* candidates) {
  std::vector<int64_t> due;
  for (const auto& [start, window] : job->windows()) {
    if (window.head == nullptr) continue;
    const bool over = job->IsOver(start, options_.grace_ns, inputs_->Behind());
    const int64_t age = now_ns - window.head_since_ns;
    if ((over && age >= kLateNs) || age >= options_.seal_after_ns) {
      due.push_back(start);
    } else if (candidates != nullptr) {
      if (window.head->bytes() > candidates->largest.bytes)
        candidates->largest = {job, start, window.head->bytes()};
      candidates->to_move.push_back({job, start, window.head->movable_bytes()});
      candidates->movable += candidates->to_move.back().bytes;
    }
  }
  Status first_fault;
  for (const int64_t start : due) {
    const Status sealed = sealer_->SealWindow(job, start);
    if (first_fault.ok()) first_fault = sealed;
  }
  return first_fault;
}

// After a backlog, sealing all rows may take too long. Unsealed rows are also in the log.
Status SealSchedule::SealAtStop() {
  const int64_t deadline = clock_->MonotonicNs() + options_.stop_ns;
  size_t left = 0;
  const PartitionJobs::List jobs = jobs_->All();
  for (const StoredJobPtr& job : *jobs) {
    for (const int64_t start : WindowSealer::Heads(*job)) {
      if (clock_->MonotonicNs() >= deadline) {
        ++left;
      } else {
        RETURN_IF_ERROR(sealer_->SealWindow(job, start));
      }
    }
  }
  if (left > 0) {
    PITWALL_LOG(kInfo, "insights", "partition ", partition_, ": ", left,
                left == 1 ? " window was" : " windows were",
                " not sealed before the stop timeout; their rows will be read from the log at the "
                "next start");
  }
  return OkStatus();
}

// Moves several windows at a time, so that memory stays free for a while. Scanning all windows
// costs as much as moving a few.
bool SealSchedule::MoveMost(std::vector<Heavy> windows) {
  std::sort(windows.begin(), windows.end(),
            [](const Heavy& a, const Heavy& b) { return a.bytes > b.bytes; });
  size_t left = head_bytes_;
  bool moved = false;
  for (const Heavy& window : windows) {
    if (left <= share_ - share_ / kMinMovable || window.bytes == 0) break;
    if (!MoveRows(window.job, window.window_ns).ok()) break;
    left -= std::min(left, window.bytes);
    moved = true;
  }
  NoteMemory();
  return moved;
}

Status SealSchedule::MoveRows(const StoredJobPtr& job, int64_t window_ns) {
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

}  // namespace pitwall::history
