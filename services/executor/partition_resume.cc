// Part of PartitionWorker: determines the resume position, even if the log was replaced
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
                ", below the read position ", before, " (topic deleted, recreated, or truncated)"));
  // The new log repeats only open issues, so the state of all other issues is unknown.
  candidates_.clear();
  for (const auto& [issue, t] : std::exchange(committed_stops_, {})) {
    Finish(t.decision, "not executed: the log of issues was replaced first");
  }
  return Apply({}, reader_->position());
}

void PartitionWorker::NoteReset(std::string text) {
  counters_->log_resets.Add();
  text += "; resuming at the end, because open issues are repeated within five minutes";
  PITWALL_LOG(kError, "executor", text);
  MutexLock lock(&mutex_);
  notice_.Set(std::move(text), clock_->MonotonicNs());
}

void PartitionWorker::Hold(const Status& why) {
  SetHealth(why);
  PITWALL_LOG(kError, "executor", at_.topic, "/", at_.partition, ": ", ToStd(why.message()));
  committer_.reset();  // Reopen reads the decisions before the next commit
}

}  // namespace pitwall::executor
