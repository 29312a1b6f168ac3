#include "services/adapters/embedded_log/commit_writer.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

SegmentPolicy PolicyOf(const EmbeddedLogOptions& options) {
  SegmentPolicy policy;
  policy.segment_bytes = options.segment_bytes;
  policy.segment_ns = options.segment_ms > INT64_MAX / kNanosPerMilli
                          ? INT64_MAX
                          : options.segment_ms * kNanosPerMilli;
  policy.compress = options.compress;
  policy.faults = options.faults;
  return policy;
}

}  // namespace

CommitWriter::CommitWriter(const EmbeddedLogOptions& options, Clock* clock, CommittedState* state,
                           Start start, Wake wake)
    : fsync_(options.fsync),
      checkpoint_bytes_(options.checkpoint_bytes),
      background_(options.background),
      state_(state),
      wake_(std::move(wake)),
      journal_(std::move(start.journal), start.sequence),
      writers_(PolicyOf(options), /*suspend=*/options.fsync != FsyncPolicy::kAlways, state, clock) {
}

Status CommitWriter::Submit(CommitRequest* request) {
  Pending pending;
  pending.request = request;
  {
    MutexLock lock(&queue_mutex_);
    queue_.push_back(&pending);
  }
  MutexLock lock(&writer_mutex_);
  if (pending.done) return pending.status;  // a previous lock holder has processed the request
  std::vector<Pending*> group;
  {
    MutexLock queue_lock(&queue_mutex_);
    group.swap(queue_);
  }
  Process(group);
  return pending.status;
}

void CommitWriter::Process(const std::vector<Pending*>& pendings) {
  Status usable = closed_ ? FailedPrecondition("the log is closed") : TrustJournal();
  std::vector<Pending*> left;
  for (Pending* pending : pendings) {
    pending->status = usable;
    pending->done = true;
    if (usable.ok()) left.push_back(pending);
  }
  // Each iteration completes at least one request.
  bool rolled = false;
  while (!left.empty()) rolled = TryGroup(&left) || rolled;
  if (!usable.ok()) return;
  // The background thread writes the checkpoint when it is due. This larger bound applies even if
  // that thread is slow or disabled.
  const int64_t bound = background_ ? 4 * checkpoint_bytes_ : checkpoint_bytes_;
  if (journal_.CheckpointDue(bound)) {
    const Status status = CheckpointLocked();
    if (!status.ok()) PITWALL_LOG(kWarning, "log", ToStd(status.message()));
  } else if (rolled || journal_.CheckpointDue(checkpoint_bytes_)) {
    wake_.keeper();
  }
}

bool CommitWriter::TryGroup(std::vector<Pending*>* left) {
  CommitGroup group(state_, &writers_, journal_.sequence(), journal_.synced_sequence());
  std::vector<Pending*> staged;
  for (Pending* pending : *left) {
    pending->status = group.Stage(pending->request);
    if (pending->status.ok()) staged.push_back(pending);
  }
  left->clear();
  if (staged.empty()) return false;
  Partitions culprits;
  const Status status = Persist(group.frames(), &culprits);
  if (status.ok()) return PublishGroup(&group, staged.size());
  group.RollBack();
  // Everything before this group was flushed, and the writes in this group were rolled back.
  if (fsync_ == FsyncPolicy::kAlways) writers_.ForgetUnflushed();
  for (Pending* pending : staged) {
    const auto& records = pending->request->records;
    const bool touched = std::any_of(records.begin(), records.end(), [&](const RoutedRecord& r) {
      return culprits.contains(r.partition);
    });
    if (touched || culprits.empty()) {
      pending->status = status;
    } else {
      left->push_back(pending);
    }
  }
  if (left->size() == staged.size()) {
    for (Pending* pending : std::exchange(*left, {})) pending->status = status;
  }
  return false;
}

bool CommitWriter::PublishGroup(CommitGroup* group, size_t commits) {
  journal_.NoteCommits(group->sequence(), /*durable=*/fsync_ == FsyncPolicy::kAlways);
  const CommittedState::Publication publication = group->Publish();
  bool rolled = false;
  for (const PartitionUpdate& update : publication.partitions) {
    rolled = rolled || !update.new_segments.empty();
  }
  state_->Publish(publication);
  commits_ += static_cast<int64_t>(commits);
  records_ += group->records();
  if (rolled) rolled_.store(true);
  if (!dirty_.exchange(true)) wake_.flusher();
  return rolled;
}

Status CommitWriter::TrustJournal() {
  if (journal_.distrusted().ok()) return OkStatus();
  const Status cause = journal_.distrusted();
  if (const Status made = CheckpointLocked(); !made.ok()) {
    return Unavailable(Cat("the commit journal cannot be flushed (", ToStd(cause.message()),
                           ") or rewritten (", ToStd(made.message()), "); retrying"));
  }
  PITWALL_LOG(kInfo, "log",
              "rewrote the commit journal after a failed flush: ", ToStd(cause.message()));
  return OkStatus();
}

Status CommitWriter::Persist(const std::string& frames, Partitions* culprits) {
  if (fsync_ != FsyncPolicy::kAlways) return journal_.Append(frames);
  RETURN_IF_ERROR(writers_.Flush(culprits));
  return journal_.AppendDurably(frames);
}

Status CommitWriter::NoteTopic(const TopicFact& topic) {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  RETURN_IF_ERROR(TrustJournal());
  Frame facts;
  facts.topics.push_back(topic);
  return journal_.AppendFacts(std::move(facts));
}

Status CommitWriter::Rearrange(Frame facts, const std::function<void()>& apply) {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  RETURN_IF_ERROR(TrustJournal());
  RETURN_IF_ERROR(journal_.AppendFacts(std::move(facts)));
  RETURN_IF_ERROR(journal_.Sync());
  apply();
  return OkStatus();
}

Status CommitWriter::Sync(bool durable_mark) {
  MutexLock sync_lock(&sync_mutex_);
  DirtyFiles taken;
  std::shared_ptr<files::File> journal;
  uint64_t sequence = 0;
  {
    MutexLock lock(&writer_mutex_);
    if (closed_) return FailedPrecondition("the log is closed");
    RETURN_IF_ERROR(TrustJournal());
    dirty_.store(false);
    taken = writers_.BeginFlush();
    sequence = journal_.commit_sequence();
    journal = journal_.file();
  }
  // Appends continue during the flush.
  const FlushResult result = FlushFiles(taken);
  const Status synced = journal->Sync();
  MutexLock lock(&writer_mutex_);
  Status settled = writers_.EndFlush(taken, result);
  journal_.NoteFlush(journal, synced);
  if (!synced.ok()) {
    const Status trusted = TrustJournal();
    if (settled.ok()) settled = trusted;
  }
  // The mark is valid even if one partition could not be flushed. The next start verifies the
  // unflushed records of that partition regardless of the mark.
  const Status marked =
      journal_.distrusted().ok() ? journal_.MarkSynced(sequence, durable_mark) : synced;
  if (!settled.ok()) {
    dirty_.store(true);
    return settled;
  }
  return marked;
}

Status CommitWriter::SyncLocked() {
  Partitions culprits;
  const Status flushed = writers_.Flush(&culprits);
  RETURN_IF_ERROR(TrustJournal());
  RETURN_IF_ERROR(journal_.Sync());
  const Status marked = journal_.MarkSynced(journal_.commit_sequence(), /*durable=*/true);
  return flushed.ok() ? marked : flushed;
}

bool CommitWriter::CheckpointDue() {
  MutexLock lock(&writer_mutex_);
  return !closed_ && journal_.CheckpointDue(checkpoint_bytes_);
}

Status CommitWriter::CheckpointLocked() {
  // A failed flush suspends its partition but must not block the journal.
  Partitions culprits;
  (void)writers_.Flush(&culprits);
  RETURN_IF_ERROR(journal_.Checkpoint(state_->Snapshot(journal_.sequence())));
  dirty_.store(writers_.HasUnflushed());
  return OkStatus();
}

Status CommitWriter::Checkpoint() {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  return CheckpointLocked();
}

StatusOr<bool> CommitWriter::DropExpiredActive(CommittedState::Partition* partition,
                                               int64_t cutoff_ns) {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  const PartitionContent content = state_->Content(partition);
  if (content.segments.size() != 1 || content.last_time_ns >= cutoff_ns) return false;
  // After this flush, recovery can verify commits without the deleted file.
  RETURN_IF_ERROR(SyncLocked());
  Frame facts;
  facts.starts.push_back({partition->key(), content.end_offset});
  RETURN_IF_ERROR(journal_.AppendFacts(std::move(facts)));
  RETURN_IF_ERROR(journal_.Sync());
  writers_.Remove(partition);
  state_->RemoveThrough(partition, content.segments.front().segment.get());
  RETURN_IF_ERROR(files::Remove(content.segments.front().segment->path()));
  return true;
}

Status CommitWriter::Close() {
  MutexLock sync_lock(&sync_mutex_);
  MutexLock lock(&writer_mutex_);
  if (closed_) return OkStatus();
  // The mark must also cover frames other than commits. Otherwise, the next start would accept a
  // journal truncated before them.
  const Status status = journal_.AllMarked() ? OkStatus() : SyncLocked();
  closed_ = true;
  writers_.Clear();
  return status;
}

void CommitWriter::AddTo(EmbeddedLogStats* stats) {
  MutexLock lock(&writer_mutex_);
  stats->commits = commits_;
  stats->records = records_;
  stats->bytes = writers_.bytes();
  stats->flushes = writers_.flushes() + journal_.flushes();
  stats->failed_flushes = writers_.failed_flushes() + journal_.failed_flushes();
  stats->suspended_partitions = writers_.CountSuspended();
  stats->checkpoints = journal_.checkpoints();
  stats->journal_bytes = journal_.bytes();
  stats->clock_ahead_ns = writers_.AheadNs();
}

}  // namespace pitwall::log
