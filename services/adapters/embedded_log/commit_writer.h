// The log's single writer. It turns requests into committed records and commits all waiting
// requests with a single flush.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/commit/commit_group.h"
#include "services/adapters/embedded_log/commit/commit_request.h"
#include "services/adapters/embedded_log/commit/partition_writers.h"
#include "services/adapters/embedded_log/commit/sequenced_journal.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::log {

// The log's single writer. Several threads submit requests, and the thread that holds the writer
// lock commits all waiting requests as a group. Thread-safe.
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
  // policy guarantees. Otherwise, no part of the request is visible.
  Status Submit(CommitRequest* request);

  // Flushes everything written so far. If `durable_mark` is set, also flushes the journal's mark,
  // which must be durable before old segments are deleted.
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
  // `apply`. No commit or checkpoint happens in between. Used for changes to closed segments:
  // recovery must stop expecting the files before they are deleted.
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
  using Partitions = PartitionWriters::Partitions;

  void Process(const std::vector<Pending*>& group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Commits all requests in `left`. If a partition cannot be flushed, its requests fail, and the
  // other requests remain in `left` for the next call. Returns true if a segment was closed.
  bool TryGroup(std::vector<Pending*>* left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  bool PublishGroup(CommitGroup* group, size_t commits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Sets *culprits to the partitions whose files could not be flushed.
  Status Persist(const std::string& frames, Partitions* culprits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status CheckpointLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  Status SyncLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Replaces the journal file after a failed flush. The content of the old file may not be on disk,
  // but the state in memory is complete, so a checkpoint writes a new file.
  Status TrustJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);

  const FsyncPolicy fsync_;
  const int64_t checkpoint_bytes_;
  const bool background_;
  CommittedState* const state_;
  const Wake wake_;

  // Requests waiting for the writer. The next thread that acquires the writer lock processes all of
  // them. The queue length never exceeds the number of calling threads.
  Mutex queue_mutex_;
  std::vector<Pending*> queue_ ABSL_GUARDED_BY(queue_mutex_);

  Mutex sync_mutex_ ABSL_ACQUIRED_BEFORE(writer_mutex_);  // serializes flushes
  Mutex writer_mutex_;
  SequencedJournal journal_ ABSL_GUARDED_BY(writer_mutex_);
  PartitionWriters writers_ ABSL_GUARDED_BY(writer_mutex_);
  bool closed_ ABSL_GUARDED_BY(writer_mutex_) = false;
  int64_t commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;
  int64_t records_ ABSL_GUARDED_BY(writer_mutex_) = 0;  // appended since open

  std::atomic<bool> dirty_{false};  // there have been commits since the last flush
  std::atomic<bool> rolled_{false};
};

}  // namespace pitwall::log
