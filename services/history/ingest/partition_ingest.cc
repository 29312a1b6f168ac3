#include "services/history/ingest/partition_ingest.h"

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/store/segment_recovery.h"

namespace pitwall::history {
namespace {

constexpr Duration kPoll = Duration::Millis(20);
constexpr int64_t kRetryNs = kNanosPerSecond;
// Maximum number of unsaved events. Reading pauses above this limit.
constexpr size_t kMaxUnsaved = 10'000;

// Returns the memory limit for one partition's unsealed rows.
size_t MemoryShare(const HistoryOptions& options, int32_t partitions) {
  const auto owned =
      (partitions - options.share_index + options.share_count - 1) / options.share_count;
  return options.head_bytes() / static_cast<size_t>(owned);
}

}  // namespace

PartitionIngest::PartitionIngest(Clock* clock, Log* log, HistoryStore* store,
                                 const HistoryOptions* options, int32_t partition,
                                 int32_t partitions)
    : clock_(clock),
      store_(store),
      options_(*options),
      partition_(partition),
      control_(clock, partition),
      jobs_(store, partition, partitions),
      inputs_(clock, log, store, &control_, options_, partition),
      reader_(clock, store, &jobs_, &inputs_, &control_),
      saver_(clock, store, &jobs_, &inputs_, options_),
      sealer_(clock, store, &saver_, &control_),
      schedule_(clock, store, &jobs_, &inputs_, &sealer_, options_, partition,
                MemoryShare(options_, partitions)) {}

void PartitionIngest::Start() {
  control_.Begin();
  inputs_.LoadTombstones();
  control_.Start([this] { Loop(); });
}

void PartitionIngest::Loop() {
  while (!control_.stopping()) {
    control_.RunWork();
    const Status status = Step();
    control_.SetHealth(status);
    if (!status.ok() && !control_.stopping()) control_.Wait(kRetryNs);
  }
  if (const Status status = SaveAtStop(); !status.ok()) {
    PITWALL_LOG(kWarning, "insights", "partition ", partition_,
                ": rows in memory were not sealed (", ToStd(status.message()),
                "); they will be read from the log at the next start");
  }
  control_.End();
}

Status PartitionIngest::Step() {
  RETURN_IF_ERROR(inputs_.Open());
  bool idle = true;
  if (jobs_.CountUnsaved() < kMaxUnsaved) RETURN_IF_ERROR(reader_.ReadEvents(&idle));
  schedule_.NoteMemory();
  if (schedule_.MayRead())
    RETURN_IF_ERROR(reader_.ReadTelemetry(idle ? kPoll : Duration::Zero(), &idle));
  if (!inputs_.open(IngestInputs::kTelemetry) && idle && !control_.stopping())
    control_.Wait(kPoll.ns());
  // Events are saved even if sealing failed.
  const Status sealed = schedule_.SealDue(reader_.counts());
  RETURN_IF_ERROR(saver_.SaveIfDue(false));
  UnloadUnused();
  return sealed;
}

Status PartitionIngest::SaveAtStop() {
  RETURN_IF_ERROR(schedule_.SealAtStop());
  RETURN_IF_ERROR(saver_.SaveIfDue(true));
  return store_->Settle();
}

void PartitionIngest::UnloadUnused() {
  const int64_t now = clock_->MonotonicNs();
  if (now - unloaded_ns_ < options_.unload_after_ns) return;
  unloaded_ns_ = now;
  const PartitionJobs::List jobs = jobs_.All();
  for (const StoredJobPtr& job : *jobs) {
    if (store_->UnloadUnused(job)) sealer_.ForgetHints(job->id());
  }
}

Status PartitionIngest::DeleteJob(const StoredJobPtr& job) {
  const Tombstone tombstone = inputs_.TombstoneNow();
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
  store_->AddTombstone(hash, tombstone);
  inputs_.Bury(hash, tombstone);
  sealer_.ForgetHints(job->id());
  store_->Remove(job->id());
  ++store_->counters().removed_jobs;
  RETURN_IF_ERROR(files::RemoveTree(doomed));
  return store_->Settle();
}

}  // namespace pitwall::history
