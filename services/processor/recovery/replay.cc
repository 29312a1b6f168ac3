#include "services/processor/recovery/replay.h"

#include <string>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/processor/published_issues.h"

namespace pitwall::processor {

void Replay::Restart() {
  stats_.records_replayed = stats_.rebuilt_jobs = 0;
  settle_due_ = false;
}

void Replay::NoteLostState(bool gap) {
  settle_due_ = true;
  if (gap) ++stats_.input_losses;
}

void Replay::LoseInput(const Status& why, int64_t next_offset, LogOffset reader_offset,
                       engine::Shard* shard) {
  PITWALL_LOG(kError, "processor", "partition ", partition_, ": ", ToStd(why.message()));
  ++stats_.input_losses;
  if (!Suppresses(next_offset)) return;
  // The lost records were processed earlier, so the published issues cannot be derived from the
  // remaining records.
  shard->LoseHistory(reader_offset);
  shard->RebuildStrangers(LogOffset(suppress_below_), /*whole=*/false);
  settle_due_ = true;
}

Status Replay::Settle(Log* log, engine::Shard* shard, std::vector<IssueEvent>* out) {
  if (!settle_due_) return OkStatus();
  ASSIGN_OR_RETURN(const PublishedIssues published, PublishedIssues::Read(log, partition_));
  for (const std::string& job : published.Jobs()) {
    const engine::Job* found = shard->jobs().Find(job);
    if (found != nullptr && !found->state().lifecycle.ended()) continue;
    published.EndIssues(job, EventTime(), out);
    published.StopRules(job, "history lost: state and records of the job are gone", out);
  }
  for (const std::string& job : shard->jobs().NeedsReconcile()) {
    shard->ReconcileAlerts(job);
    const engine::Job* found = shard->jobs().Find(job);
    if (found == nullptr || found->state().lifecycle.ended()) continue;
    published.EndIssues(
        job, found->state().clock.begun() ? found->state().clock.watermark() : EventTime(), out);
    published.EmitStatuses(*found, out);
  }
  settle_due_ = false;
  return OkStatus();
}

}  // namespace pitwall::processor
