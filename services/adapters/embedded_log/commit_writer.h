// Single writer of the log. It turns requests into committed records and commits several waiting
// requests with one flush.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/append_clock.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/partition_writer.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::log {

// A record with its resolved partition. The record is borrowed for the duration of the call.
struct RoutedRecord {
  CommittedState::Partition* partition = nullptr;
  const OutgoingRecord* record = nullptr;
};

struct CommitRequest {
  std::vector<RoutedRecord> records;
  std::optional<GroupPosition> position;
  std::string committer;        // if empty, no fencing
  uint64_t epoch = 0;           // if it differs from the current epoch, the result is Aborted
  bool open_committer = false;  // if set, assigns the committer's next epoch to `epoch`
};

// Thread-safe.
class CommitWriter {
 public:
  struct Wake {
    std::function<void()> flusher;  // called when the first unflushed write appears
    std::function<void()> keeper;   // called when a segment was closed or the journal is long
  };
  struct Start {  // result of recovery
    std::unique_ptr<CommitJournal> journal;
    uint64_t sequence = 0;
  };
  CommitWriter(const EmbeddedLogOptions& options, Clock* clock, CommittedState* state, Start start,
               Wake wake);

  // Commits the request. If the result is OK, the records are visible and as durable as the fsync
  // policy guarantees. Otherwise, nothing of the request is visible.
  Status Submit(CommitRequest* request);

  // Flushes everything written so far. If `durable_mark` is set, it also flushes the journal's note
  // about this flush, which is required before old segments are deleted.
  Status Sync(bool durable_mark);
  bool dirty() const { return dirty_.load(); }
  bool CheckpointDue();
  Status Checkpoint();
  // Returns true if a segment was closed since the last call.
  bool TakeRolled() { return rolled_.exchange(false); }
  // Deletes a partition's only segment if all its records are older than the cutoff. Returns true
  // if it deleted the segment.
  StatusOr<bool> DropExpiredActive(CommittedState::Partition* partition, int64_t cutoff_ns);
  // Appends a frame with `facts` (sets its kind and sequences), flushes the frame, and calls
  // `apply`. No commit or checkpoint happens in between. Used for changes to closed segments, so
  // that recovery no longer expects files that are deleted afterwards.
  Status Rearrange(Frame facts, const std::function<void()>& apply);
  // Records a new or changed topic. The frame is not flushed because the topic's directory holds
  // the same data.
  Status NoteTopic(const TopicFact& topic);
  // Flushes and closes the writer. Later requests fail with FailedPrecondition.
  Status Close();
  void AddTo(EmbeddedLogStats* stats);

 private:
  struct Pending {
    CommitRequest* request = nullptr;
    Status status;
    bool done = false;
  };
  struct Group;
  using Partitions = std::set<CommittedState::Partition*>;
  // Result of flushing a set of files.
  struct FlushResult {
    Status first;
    std::map<CommittedState::Partition*, Status> failed;
    DirtyFiles left;
    int64_t flushes = 0;
  };
  static FlushResult FlushFiles(const DirtyFiles& dirty);

  void Process(const std::vector<Pending*>& group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status Stage(CommitRequest* request, Group* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status StageRecords(const CommitRequest& request, Frame* frame, Group* group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  bool TryGroup(std::vector<Pending*>* pendings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  bool PublishGroup(Group* group, size_t commits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Sets *culprits to the partitions whose files could not be flushed.
  Status Persist(const std::string& frames, Partitions* culprits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status FlushDirty(Partitions* culprits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status Settle(const DirtyFiles& flushed, const FlushResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status AppendFacts(Frame facts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status CheckpointLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status MarkSynced(uint64_t sequence, bool durable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status SyncLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  PartitionWriter* WriterOf(CommittedState::Partition* partition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status TrustJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status SyncJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  void NoteDirty();

  const FsyncPolicy fsync_;
  const int64_t checkpoint_bytes_;
  const bool background_;
  const SegmentPolicy segment_policy_;
  CommittedState* const state_;
  const Wake wake_;

  // Requests that wait for the writer. The next thread that acquires the writer lock processes all
  // of them. The queue length never exceeds the number of calling threads.
  Mutex queue_mutex_;
  std::vector<Pending*> queue_ ABSL_GUARDED_BY(queue_mutex_);

  Mutex sync_mutex_ ABSL_ACQUIRED_BEFORE(writer_mutex_);  // serializes flushes
  Mutex writer_mutex_;
  std::unique_ptr<CommitJournal> journal_ ABSL_GUARDED_BY(writer_mutex_);
  uint64_t sequence_ ABSL_GUARDED_BY(writer_mutex_);         // sequence of the newest frame
  uint64_t commit_sequence_ ABSL_GUARDED_BY(writer_mutex_);  // sequence of the newest commit frame
  // Newest frame known to be on disk.
  uint64_t synced_sequence_ ABSL_GUARDED_BY(writer_mutex_) = 0;
  std::map<CommittedState::Partition*, std::unique_ptr<PartitionWriter>> writers_
      ABSL_GUARDED_BY(writer_mutex_);
  DirtyFiles dirty_files_ ABSL_GUARDED_BY(writer_mutex_);
  DirtyFiles in_flight_ ABSL_GUARDED_BY(writer_mutex_);  // files that Sync is flushing right now
  AppendClock append_clock_ ABSL_GUARDED_BY(writer_mutex_);
  BatchBuilder builder_ ABSL_GUARDED_BY(writer_mutex_);
  bool closed_ ABSL_GUARDED_BY(writer_mutex_) = false;
  EmbeddedLogStats stats_ ABSL_GUARDED_BY(writer_mutex_);

  std::atomic<bool> dirty_{false};  // there are commits since the last flush
  std::atomic<bool> rolled_{false};
};

}  // namespace pitwall::log
