#include "services/adapters/embedded_log/commit_writer.h"

#include <algorithm>
#include <utility>

#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/check.h"
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

// Combined effects of the requests that one group commit covers.
struct CommitWriter::Group {
  std::map<PartitionWriter*, PartitionWriter::Mark> marks;  // state before the group commit
  std::vector<PartitionWriter*> touched;   // in the order in which the group uses them
  std::map<std::string, uint64_t> epochs;  // assigned in this group commit
  std::vector<GroupPosition> positions;
  std::string frames;
  uint64_t sequence = 0;
  size_t segments_before = 0;
  int64_t records = 0;
};

CommitWriter::CommitWriter(const EmbeddedLogOptions& options, Clock* clock, CommittedState* state,
                           Start start, Wake wake)
    : fsync_(options.fsync),
      checkpoint_bytes_(options.checkpoint_bytes),
      background_(options.background),
      segment_policy_(PolicyOf(options)),
      state_(state),
      wake_(std::move(wake)),
      journal_(std::move(start.journal)),
      sequence_(start.sequence),
      commit_sequence_(start.sequence),
      append_clock_(clock) {}

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
  if (journal_->CheckpointDue(bound)) {
    const Status status = CheckpointLocked();
    if (!status.ok()) PITWALL_LOG(kWarning, "log", ToStd(status.message()));
  } else if (rolled || journal_->CheckpointDue(checkpoint_bytes_)) {
    wake_.keeper();
  }
}

// Commits all remaining requests. If a partition cannot be flushed, its requests fail, and the
// other requests remain in `left` for the next iteration. Returns true if a segment was closed.
bool CommitWriter::TryGroup(std::vector<Pending*>* left) {
  Group group;
  group.sequence = sequence_;
  std::vector<Pending*> staged;
  for (Pending* pending : *left) {
    pending->status = Stage(pending->request, &group);
    if (pending->status.ok()) staged.push_back(pending);
  }
  left->clear();
  if (staged.empty()) return false;
  Partitions culprits;
  const Status status = Persist(group.frames, &culprits);
  if (status.ok()) return PublishGroup(&group, staged.size());
  for (auto& [writer, mark] : group.marks) writer->Rollback(mark);
  // Everything before this group was flushed, and the writes in this group were rolled back.
  if (fsync_ == FsyncPolicy::kAlways) dirty_files_.clear();
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

bool CommitWriter::PublishGroup(Group* group, size_t commits) {
  sequence_ = commit_sequence_ = group->sequence;
  if (fsync_ == FsyncPolicy::kAlways) {
    synced_sequence_ = sequence_;
    journal_->Mark(sequence_);
  }
  CommittedState::Publication publication;
  bool rolled = false;
  for (PartitionWriter* writer : group->touched) {
    publication.partitions.push_back(writer->Publish());
    rolled = rolled || !publication.partitions.back().new_segments.empty();
  }
  publication.positions = std::move(group->positions);
  for (const auto& [id, epoch] : group->epochs) publication.epochs.push_back({id, epoch});
  state_->Publish(publication);
  stats_.commits += static_cast<int64_t>(commits);
  stats_.records += group->records;
  if (rolled) rolled_.store(true);
  NoteDirty();
  return rolled;
}

void CommitWriter::NoteDirty() {
  if (!dirty_.exchange(true)) wake_.flusher();
}

PartitionWriter* CommitWriter::WriterOf(CommittedState::Partition* partition) {
  std::unique_ptr<PartitionWriter>& writer = writers_[partition];
  if (writer == nullptr) {
    writer = std::make_unique<PartitionWriter>(
        &segment_policy_, partition, CommittedState::Dir(partition), state_->Content(partition));
    append_clock_.ContinueAfter(writer->mark().last_time_ns);
  }
  return writer.get();
}

Status CommitWriter::StageRecords(const CommitRequest& request, Frame* frame, Group* group) {
  // Records keep their order within a partition. Partitions are ordered by their first record.
  std::vector<PartitionWriter*> order;
  std::map<PartitionWriter*, std::vector<const OutgoingRecord*>> per_partition;
  for (const RoutedRecord& record : request.records) {
    PartitionWriter* const writer = WriterOf(record.partition);
    std::vector<const OutgoingRecord*>& records = per_partition[writer];
    if (records.empty()) order.push_back(writer);
    records.push_back(record.record);
  }
  const int64_t now_ns = append_clock_.Stamp();
  std::vector<std::pair<PartitionWriter*, PartitionWriter::Mark>> done;
  Status status = OkStatus();
  for (PartitionWriter* writer : order) {
    done.emplace_back(writer, writer->mark());
    const int64_t bytes_before = writer->bytes_written();
    status = writer->Write(per_partition[writer], now_ns, &builder_, &dirty_files_, frame);
    stats_.bytes += writer->bytes_written() - bytes_before;
    if (!status.ok()) {
      status = Annotate(status, Cat("partition ", CommittedState::Name(writer->partition())));
      break;
    }
  }
  if (status.ok()) status = EncodeFrame(*frame, &group->frames);
  if (!status.ok()) {
    for (auto& [writer, mark] : done) writer->Rollback(mark);
    return status;
  }
  for (auto& [writer, mark] : done) {
    if (group->marks.emplace(writer, mark).second) group->touched.push_back(writer);
  }
  group->records += static_cast<int64_t>(request.records.size());
  return OkStatus();
}

Status CommitWriter::Stage(CommitRequest* request, Group* group) {
  Frame frame;
  frame.kind = FrameKind::kCommit;
  frame.sequence = group->sequence + 1;
  frame.synced_sequence = synced_sequence_;
  const std::string& committer = request->committer;
  uint64_t epoch = 0;
  if (!committer.empty()) {
    const auto given = group->epochs.find(committer);
    epoch = given != group->epochs.end() ? given->second : state_->Epoch(committer);
    if (request->open_committer) {
      request->epoch = ++epoch;
      frame.epochs.push_back({committer, epoch});
    } else if (epoch != request->epoch) {
      return Aborted(Cat("committer ", committer, " of epoch ", request->epoch,
                         " is fenced: epoch ", epoch, " has been opened"));
    }
  }
  if (request->position.has_value()) frame.positions.push_back(*request->position);
  RETURN_IF_ERROR(state_->CheckRoom(request->position.has_value() ? &*request->position : nullptr,
                                    request->open_committer ? committer : std::string()));
  RETURN_IF_ERROR(StageRecords(*request, &frame, group));
  if (request->open_committer) group->epochs[committer] = epoch;
  if (request->position.has_value()) group->positions.push_back(*request->position);
  group->sequence = frame.sequence;
  return OkStatus();
}

// Rewrites pages that a failed flush may have marked clean without writing them. The rewrite makes
// them dirty again, so the next flush retries them.
static Status WriteAgain(const DirtyFiles::Entry& entry) {
  ASSIGN_OR_RETURN(const int64_t size, entry.file->Size());
  std::string block;
  int64_t at = entry.from <= kSegmentHeaderBytes ? 0 : entry.from;
  while (at < size) {
    block.resize(static_cast<size_t>(std::min<int64_t>(size - at, 1 << 20)));
    ASSIGN_OR_RETURN(const size_t got, entry.file->ReadAt(at, block.data(), block.size()));
    if (got == 0) break;
    block.resize(got);
    RETURN_IF_ERROR(entry.file->WriteAt(at, block));
    at += static_cast<int64_t>(got);
  }
  return OkStatus();
}

CommitWriter::FlushResult CommitWriter::FlushFiles(const DirtyFiles& dirty) {
  FlushResult result;
  const auto failed = [&](CommittedState::Partition* partition, const Status& status) {
    const Status named = Annotate(status, Cat("partition ", CommittedState::Name(partition)));
    result.failed.emplace(partition, named);
    if (result.first.ok()) result.first = named;
  };
  for (const auto& [partition, directory] : dirty.directories) {
    ++result.flushes;
    if (const Status synced = directory->Sync(); !synced.ok()) {
      failed(partition, synced);
      result.left.directories.emplace(partition, directory);
    }
  }
  for (const auto& [key, entry] : dirty.files) {
    ++result.flushes;
    if (const Status synced = entry.file->Sync(); !synced.ok()) {
      failed(entry.partition, synced);
      result.left.files.emplace(key, entry);
    }
  }
  return result;
}

// Suspends the partitions whose flush failed and resumes those whose flush succeeded.
Status CommitWriter::Settle(const DirtyFiles& flushed, const FlushResult& result) {
  stats_.flushes += result.flushes;
  stats_.failed_flushes += static_cast<int64_t>(result.failed.size());
  for (const auto& [key, entry] : result.left.files) {
    const Status again = WriteAgain(entry);
    if (!again.ok()) PITWALL_LOG(kError, "log", entry.file->path(), ": ", ToStd(again.message()));
  }
  dirty_files_.Add(result.left);
  if (fsync_ == FsyncPolicy::kAlways) return result.first;  // the commit itself fails
  for (const auto& [partition, status] : result.failed) {
    PartitionWriter* const writer = WriterOf(partition);
    if (writer->suspended().ok()) {
      PITWALL_LOG(kError, "log", ToStd(status.message()),
                  "; it rejects records until a flush succeeds (retrying)");
    }
    writer->Suspend(Unavailable(Cat("records appended earlier cannot be flushed (",
                                    ToStd(status.message()), "); retrying")));
  }
  for (const auto& [key, entry] : flushed.files) {
    const auto writer = writers_.find(entry.partition);
    if (writer == writers_.end() || writer->second->suspended().ok()) continue;
    if (result.failed.contains(entry.partition)) continue;
    PITWALL_LOG(kInfo, "log", "partition ", CommittedState::Name(entry.partition),
                ": accepts records again");
    writer->second->Suspend(OkStatus());
  }
  return result.first;
}

Status CommitWriter::FlushDirty(Partitions* culprits) {
  // Files that a concurrent Sync is flushing may not be on disk yet.
  dirty_files_.Add(in_flight_);
  const DirtyFiles dirty = std::exchange(dirty_files_, {});
  const FlushResult result = FlushFiles(dirty);
  for (const auto& [partition, status] : result.failed) culprits->insert(partition);
  return Settle(dirty, result);
}

Status CommitWriter::SyncJournal() {
  ++stats_.flushes;
  Status synced = journal_->Sync();
  if (!synced.ok()) ++stats_.failed_flushes;
  return synced;
}

// Replaces the journal file after a failed flush. The content of the old file may not be on disk,
// but the state in memory is complete, so a checkpoint writes a new file.
Status CommitWriter::TrustJournal() {
  if (journal_->distrusted().ok()) return OkStatus();
  const Status cause = journal_->distrusted();
  if (const Status made = CheckpointLocked(); !made.ok()) {
    return Unavailable(Cat("the commit journal cannot be flushed (", ToStd(cause.message()),
                           ") or rewritten (", ToStd(made.message()), "); retrying"));
  }
  PITWALL_LOG(kInfo, "log",
              "rewrote the commit journal after a failed flush: ", ToStd(cause.message()));
  return OkStatus();
}

Status CommitWriter::Persist(const std::string& frames, Partitions* culprits) {
  if (fsync_ != FsyncPolicy::kAlways) return journal_->Append(frames);
  RETURN_IF_ERROR(FlushDirty(culprits));
  RETURN_IF_ERROR(journal_->Append(frames));
  Status synced = SyncJournal();
  if (!synced.ok()) journal_->Undo();
  return synced;
}

Status CommitWriter::AppendFacts(Frame facts) {
  facts.kind = FrameKind::kSynced;
  facts.sequence = sequence_ + 1;
  facts.synced_sequence = std::max(facts.synced_sequence, synced_sequence_);
  std::string bytes;
  RETURN_IF_ERROR(EncodeFrame(facts, &bytes));
  RETURN_IF_ERROR(journal_->Append(bytes));
  sequence_ = facts.sequence;
  return OkStatus();
}

Status CommitWriter::NoteTopic(const TopicFact& topic) {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  RETURN_IF_ERROR(TrustJournal());
  Frame facts;
  facts.topics.push_back(topic);
  return AppendFacts(std::move(facts));
}

Status CommitWriter::Rearrange(Frame facts, const std::function<void()>& apply) {
  MutexLock lock(&writer_mutex_);
  if (closed_) return FailedPrecondition("the log is closed");
  RETURN_IF_ERROR(TrustJournal());
  RETURN_IF_ERROR(AppendFacts(std::move(facts)));
  RETURN_IF_ERROR(SyncJournal());
  apply();
  return OkStatus();
}

Status CommitWriter::MarkSynced(uint64_t sequence, bool durable) {
  if (sequence > synced_sequence_) {
    Frame mark;
    mark.synced_sequence = sequence;
    RETURN_IF_ERROR(AppendFacts(std::move(mark)));
    synced_sequence_ = sequence;
  }
  if (!durable) {
    journal_->Mark(sequence);
    return OkStatus();
  }
  RETURN_IF_ERROR(SyncJournal());
  journal_->Mark(sequence_);
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
    std::swap(taken, dirty_files_);
    in_flight_ = taken;
    sequence = commit_sequence_;
    journal = journal_->file();
  }
  // Appends continue during the flush.
  const FlushResult result = FlushFiles(taken);
  const Status synced = journal->Sync();
  MutexLock lock(&writer_mutex_);
  ++stats_.flushes;
  in_flight_.clear();
  Status settled = Settle(taken, result);
  if (!synced.ok()) {
    ++stats_.failed_flushes;
    // A checkpoint may have replaced the file during the flush.
    if (journal_->file() == journal) journal_->Distrust(synced);
    const Status trusted = TrustJournal();
    if (settled.ok()) settled = trusted;
  }
  // The mark is valid even if one partition could not be flushed. The next start verifies the
  // unflushed records of that partition regardless of the mark.
  const Status marked = journal_->distrusted().ok() ? MarkSynced(sequence, durable_mark) : synced;
  if (!settled.ok()) {
    dirty_.store(true);
    return settled;
  }
  return marked;
}

Status CommitWriter::SyncLocked() {
  Partitions culprits;
  const Status flushed = FlushDirty(&culprits);
  RETURN_IF_ERROR(TrustJournal());
  RETURN_IF_ERROR(SyncJournal());
  const Status marked = MarkSynced(commit_sequence_, /*durable=*/true);
  return flushed.ok() ? marked : flushed;
}

bool CommitWriter::CheckpointDue() {
  MutexLock lock(&writer_mutex_);
  return !closed_ && journal_->CheckpointDue(checkpoint_bytes_);
}

Status CommitWriter::CheckpointLocked() {
  // A failed flush suspends its partition but must not block the journal.
  Partitions culprits;
  (void)FlushDirty(&culprits);
  ++stats_.flushes;
  RETURN_IF_ERROR(journal_->Checkpoint(state_->Snapshot(sequence_)));
  ++stats_.checkpoints;
  synced_sequence_ = sequence_;
  dirty_.store(!dirty_files_.empty());
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
  facts.starts.push_back({CommittedState::Key(partition), content.end_offset});
  RETURN_IF_ERROR(AppendFacts(std::move(facts)));
  RETURN_IF_ERROR(SyncJournal());
  writers_.erase(partition);
  state_->RemoveThrough(partition, content.segments.front().segment.get());
  RETURN_IF_ERROR(files::Remove(content.segments.front().segment->path()));
  return true;
}

Status CommitWriter::Close() {
  MutexLock sync_lock(&sync_mutex_);
  MutexLock lock(&writer_mutex_);
  if (closed_) return OkStatus();
  // Frames other than commits must be marked too. Otherwise, the next start would accept a journal
  // that ends before them.
  const Status status = sequence_ > journal_->marked() ? SyncLocked() : OkStatus();
  closed_ = true;
  writers_.clear();
  return status;
}

void CommitWriter::AddTo(EmbeddedLogStats* stats) {
  MutexLock lock(&writer_mutex_);
  const EmbeddedLogStats& mine = stats_;
  stats->commits = mine.commits;
  stats->records = mine.records;
  stats->bytes = mine.bytes;
  stats->flushes = mine.flushes;
  stats->failed_flushes = mine.failed_flushes;
  for (const auto& [partition, writer] : writers_) {
    if (!writer->suspended().ok()) ++stats->suspended_partitions;
  }
  stats->checkpoints = mine.checkpoints;
  stats->journal_bytes = journal_->bytes();
  stats->clock_ahead_ns = append_clock_.AheadNs();
}

}  // namespace pitwall::log
