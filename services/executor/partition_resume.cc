// Of a partition's worker: where it goes on, also in a log that is another one by now
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/executor/partition_worker.h"

namespace pitwall::executor {

StatusOr<int64_t> PartitionWorker::Resume(const CommittedOffset& committed) {
  mark_ = ParseLogMark(committed.metadata);
  const Status same = CheckLogMark(log_, at_, committed.offset, mark_);
  if (same.ok()) return committed.offset;
  if (!absl::IsFailedPrecondition(same)) return same;
  mark_ = {};
  NoteReset(std::string(ToStd(same.message())));
  return kFromEnd;
}

Status PartitionWorker::FollowReplaced(int64_t before) {
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  if (reader_->position() >= before && reader_->position() <= end) return OkStatus();
  RETURN_IF_ERROR(reader_->Seek(kFromEnd));
  begin_ = reader_->position();
  mark_ = {};
  NoteReset(Cat("log_truncated: ", at_.topic, "/", at_.partition, ": the log ends at offset ", end,
                ", below what was read, ", before, " (topic deleted, replaced or cut)"));
  // What is open in the new log comes again; whether the rest still is nobody says.
  candidates_.clear();
  for (const auto& [issue, t] : std::exchange(owed_, {})) {
    Finish(t.decision, "not carried out: the log of issues was replaced before it was");
  }
  return Apply({}, reader_->position());
}

void PartitionWorker::NoteReset(std::string text) {
  counters_->log_resets.Add();
  text += "; it goes on at the end, and hears of open issues within five minutes";
  PITWALL_LOG(kError, "executor", text);
  MutexLock lock(&mutex_);
  notice_.Set(std::move(text), clock_->MonotonicNs());
}

void PartitionWorker::Hold(const Status& why) {
  SetHealth(why);
  PITWALL_LOG(kError, "executor", at_.topic, "/", at_.partition, ": ", ToStd(why.message()));
  committer_.reset();  // Reopen reads the decisions first
}

}  // namespace pitwall::executor
