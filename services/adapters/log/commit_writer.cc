#include "services/adapters/log/commit_writer.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/strings.h"

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

// What the requests of one turn of the writer do together.
struct CommitWriter::Group {
  std::map<PartitionWriter*, PartitionWriter::Mark> marks;  // where each partition stood
  std::vector<PartitionWriter*> touched;                    // in order of first touch
  std::map<std::string, uint64_t> epochs;                   // given in this turn
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
      clock_(clock),
      state_(state),
      wake_(std::move(wake)),
      journal_(std::move(start.journal)),
      sequence_(start.sequence),
      commit_sequence_(start.sequence) {}

Status CommitWriter::Submit(CommitRequest* request) {
  Pending pending;
  pending.request = request;
  {
    MutexLock lock(&queue_mutex_);
    queue_.push_back(&pending);
  }
  MutexLock lock(&writer_mutex_);
  if (pending.done) return pending.status;  // whoever had the lock before did it
  std::vector<Pending*> group;
  {
    MutexLock queue_lock(&queue_mutex_);
    group.swap(queue_);
  }
  Process(group);
  return pending.status;
}

void CommitWriter::Process(const std::vector<Pending*>& pendings) {
  Group group;
  group.sequence = sequence_;
  std::vector<Pending*> staged;
  for (Pending* pending : pendings) {
    pending->status = failed_.ok() ? Stage(pending->request, &group) : failed_;
    pending->done = true;
    if (pending->status.ok()) staged.push_back(pending);
  }
  if (staged.empty()) return;
  if (const Status status = Persist(group.frames); !status.ok()) {
    for (auto& [writer, mark] : group.marks) writer->Rollback(mark);
    for (Pending* pending : staged) pending->status = status;
    return;
  }
  sequence_ = commit_sequence_ = group.sequence;
  if (fsync_ == FsyncPolicy::kAlways) synced_sequence_ = sequence_;
  CommittedState::Publication publication;
  bool rolled = false;
  for (PartitionWriter* writer : group.touched) {
    publication.partitions.push_back(writer->Publish());
    rolled = rolled || !publication.partitions.back().new_segments.empty();
  }
  publication.positions = std::move(group.positions);
  for (const auto& [id, epoch] : group.epochs) publication.epochs.push_back({id, epoch});
  state_->Publish(publication);
  stats_.commits += static_cast<int64_t>(staged.size());
  stats_.records += group.records;
  if (rolled) rolled_.store(true);
  NoteDirty();
  // The background thread does it when it is due; the bound holds even when that is slow, or not
  // there.
  const int64_t bound = background_ ? 4 * checkpoint_bytes_ : checkpoint_bytes_;
  if (journal_->CheckpointDue(bound)) {
    const Status status = CheckpointLocked();
    if (!status.ok()) PITWALL_LOG(kWarning, "log", ToStd(status.message()));
  } else if (rolled || journal_->CheckpointDue(checkpoint_bytes_)) {
    wake_.keeper();
  }
}

void CommitWriter::NoteDirty() {
  if (!dirty_.exchange(true)) wake_.flusher();
}

PartitionWriter* CommitWriter::WriterOf(CommittedState::Partition* partition) {
  std::unique_ptr<PartitionWriter>& writer = writers_[partition];
  if (writer == nullptr) {
    writer = std::make_unique<PartitionWriter>(
        &segment_policy_, partition, CommittedState::Dir(partition), state_->Content(partition));
  }
  return writer.get();
}

Status CommitWriter::StageRecords(const CommitRequest& request, Frame* frame, Group* group) {
  // In the order given per partition; the partitions in order of their first record.
  std::vector<PartitionWriter*> order;
  std::map<PartitionWriter*, std::vector<const OutgoingRecord*>> per_partition;
  for (const RoutedRecord& record : request.records) {
    PartitionWriter* const writer = WriterOf(record.partition);
    std::vector<const OutgoingRecord*>& records = per_partition[writer];
    if (records.empty()) order.push_back(writer);
    records.push_back(record.record);
  }
  const int64_t wall_ns = clock_->WallNs();
  std::vector<std::pair<PartitionWriter*, PartitionWriter::Mark>> done;
  Status status = OkStatus();
  for (PartitionWriter* writer : order) {
    done.emplace_back(writer, writer->mark());
    PartitionEnd end;
    const int64_t bytes_before = writer->bytes_written();
    status = writer->Write(per_partition[writer], wall_ns, frame->sequence, &builder_,
                           &dirty_files_, &end);
    stats_.bytes += writer->bytes_written() - bytes_before;
    if (!status.ok()) break;
    frame->ends.push_back(end);
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
                         " is fenced: epoch ", epoch, " was opened"));
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

Status CommitWriter::Fail(const Status& status) {
  failed_ = Internal(Cat("the log stopped, since what the disk holds is not known any more (",
                         ToStd(status.message()), "); reopen it"));
  PITWALL_LOG(kError, "log", ToStd(failed_.message()));
  return failed_;
}

Status CommitWriter::FlushDirty() {
  // What Sync took is not on the disk before it says so.
  dirty_files_.files.insert(in_flight_.files.begin(), in_flight_.files.end());
  dirty_files_.directories.insert(in_flight_.directories.begin(), in_flight_.directories.end());
  for (const std::string& directory : dirty_files_.directories) {
    if (const Status synced = SyncDirectory(directory); !synced.ok()) return Fail(synced);
    ++stats_.flushes;
  }
  for (const auto& [key, file] : dirty_files_.files) {
    // After a failed fsync the kernel may have dropped the pages: a second one would lie.
    if (const Status synced = file->Sync(); !synced.ok()) return Fail(synced);
    ++stats_.flushes;
  }
  dirty_files_.clear();
  return OkStatus();
}

Status CommitWriter::Persist(const std::string& frames) {
  if (fsync_ != FsyncPolicy::kAlways) return journal_->Append(frames);
  RETURN_IF_ERROR(FlushDirty());
  RETURN_IF_ERROR(journal_->Append(frames));
  Status synced = journal_->file()->Sync();
  ++stats_.flushes;
  if (synced.ok()) return synced;
  journal_->Undo();
  return Fail(synced);
}

Status CommitWriter::MarkSynced(uint64_t sequence, bool durable) {
  if (sequence > synced_sequence_) {
    Frame mark;
    mark.kind = FrameKind::kSynced;
    mark.sequence = sequence_ + 1;
    mark.synced_sequence = sequence;
    std::string bytes;
    RETURN_IF_ERROR(EncodeFrame(mark, &bytes));
    RETURN_IF_ERROR(journal_->Append(bytes));
    sequence_ = mark.sequence;
    synced_sequence_ = sequence;
  }
  if (!durable) return OkStatus();
  const Status synced = journal_->file()->Sync();
  ++stats_.flushes;
  return synced.ok() ? synced : Fail(synced);
}

Status CommitWriter::Sync(bool durable_mark) {
  MutexLock sync_lock(&sync_mutex_);
  DirtyFiles taken;
  std::shared_ptr<File> journal;
  uint64_t sequence = 0;
  {
    MutexLock lock(&writer_mutex_);
    RETURN_IF_ERROR(failed_);
    dirty_.store(false);
    std::swap(taken, dirty_files_);
    in_flight_ = taken;
    sequence = commit_sequence_;
    journal = journal_->file();
  }
  // Appends go on meanwhile.
  Status status = OkStatus();
  int64_t flushes = 0;
  for (const std::string& directory : taken.directories) {
    if (status.ok()) status = SyncDirectory(directory);
    ++flushes;
  }
  for (const auto& [key, file] : taken.files) {
    if (status.ok()) status = file->Sync();
    ++flushes;
  }
  if (status.ok()) status = journal->Sync();
  MutexLock lock(&writer_mutex_);
  stats_.flushes += flushes + 1;
  in_flight_.clear();
  if (!status.ok()) return Fail(status);
  return MarkSynced(sequence, durable_mark);
}

Status CommitWriter::SyncLocked() {
  RETURN_IF_ERROR(FlushDirty());
  const Status synced = journal_->file()->Sync();
  ++stats_.flushes;
  if (!synced.ok()) return Fail(synced);
  return MarkSynced(commit_sequence_, /*durable=*/true);
}

bool CommitWriter::CheckpointDue() {
  MutexLock lock(&writer_mutex_);
  return failed_.ok() && journal_->CheckpointDue(checkpoint_bytes_);
}

Status CommitWriter::CheckpointLocked() {
  RETURN_IF_ERROR(FlushDirty());
  bool fatal = false;
  const Status written = journal_->Checkpoint(state_->Snapshot(sequence_), &fatal);
  ++stats_.flushes;
  if (fatal) return Fail(written);
  RETURN_IF_ERROR(written);
  ++stats_.checkpoints;
  synced_sequence_ = sequence_;
  dirty_.store(false);
  return OkStatus();
}

Status CommitWriter::Checkpoint() {
  MutexLock lock(&writer_mutex_);
  RETURN_IF_ERROR(failed_);
  return CheckpointLocked();
}

StatusOr<bool> CommitWriter::DropExpiredActive(CommittedState::Partition* partition,
                                               int64_t cutoff_ns) {
  MutexLock lock(&writer_mutex_);
  RETURN_IF_ERROR(failed_);
  const PartitionContent content = state_->Content(partition);
  if (content.segments.size() != 1 || content.last_time_ns >= cutoff_ns) return false;
  // Recovery must not look for the file in order to verify commits that were flushed long ago.
  RETURN_IF_ERROR(SyncLocked());
  writers_.erase(partition);
  state_->RemoveThrough(partition, content.segments.front().segment.get());
  RETURN_IF_ERROR(Remove(content.segments.front().segment->path()));
  return true;
}

Status CommitWriter::Close() {
  MutexLock sync_lock(&sync_mutex_);
  MutexLock lock(&writer_mutex_);
  if (!failed_.ok()) return OkStatus();
  Status status = commit_sequence_ > synced_sequence_ ? SyncLocked() : OkStatus();
  if (failed_.ok()) failed_ = FailedPrecondition("the log is closed");
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
  stats->checkpoints = mine.checkpoints;
  stats->journal_bytes = journal_->bytes();
}

}  // namespace pitwall::log
