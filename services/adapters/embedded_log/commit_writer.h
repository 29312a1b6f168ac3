// The one way into the log: turns requests into committed records, several waiting requests with
// one flush.
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

// A record with its place found. The record is borrowed for the length of the call.
struct RoutedRecord {
  CommittedState::Partition* partition = nullptr;
  const OutgoingRecord* record = nullptr;
};

struct CommitRequest {
  std::vector<RoutedRecord> records;
  std::optional<GroupPosition> position;
  std::string committer;        // empty: not fenced
  uint64_t epoch = 0;           // Aborted when the committer's is another
  bool open_committer = false;  // gives `committer` the next epoch, in `epoch`
};

// Thread-safe.
class CommitWriter {
 public:
  struct Wake {
    std::function<void()> flusher;  // there is something to flush, since just now
    std::function<void()> keeper;   // a segment was closed, or the journal is long
  };
  struct Start {  // what recovery found
    std::unique_ptr<CommitJournal> journal;
    uint64_t sequence = 0;
  };
  CommitWriter(const EmbeddedLogOptions& options, Clock* clock, CommittedState* state, Start start,
               Wake wake);

  // Visible, and as durable as the policy says, when it returns OK; else nothing of it is there.
  Status Submit(CommitRequest* request);

  // Flushes what was written so far. `durable_mark`: also the journal's note of it (before old
  // segments are deleted).
  Status Sync(bool durable_mark);
  bool dirty() const { return dirty_.load(); }
  bool CheckpointDue();
  Status Checkpoint();
  // Whether a segment was closed since the last call.
  bool TakeRolled() { return rolled_.exchange(false); }
  // Takes away a partition's only segment when all of it is older than the cut-off. True when it
  // did.
  StatusOr<bool> DropExpiredActive(CommittedState::Partition* partition, int64_t cutoff_ns);
  // Writes a frame of `facts` (its kind and sequences are set here), flushes it, and then calls
  // `apply`, with no commit and no checkpoint in between. For who changes closed segments: what is
  // deleted after it is not looked for again.
  Status Rearrange(Frame facts, const std::function<void()>& apply);
  // A topic was made or changed. Not flushed: its folder says so as well.
  Status NoteTopic(const TopicFact& topic);
  // Later requests fail with FailedPrecondition. Flushes.
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
  // What a round of flushes could not flush.
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
  // *culprits: partitions whose files could not be flushed.
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

  // Requests queue up here while the writer is busy; whoever gets the writer's lock next takes them
  // all. Never longer than there are threads that call.
  Mutex queue_mutex_;
  std::vector<Pending*> queue_ ABSL_GUARDED_BY(queue_mutex_);

  Mutex sync_mutex_ ABSL_ACQUIRED_BEFORE(writer_mutex_);  // one flush at a time
  Mutex writer_mutex_;
  std::unique_ptr<CommitJournal> journal_ ABSL_GUARDED_BY(writer_mutex_);
  uint64_t sequence_ ABSL_GUARDED_BY(writer_mutex_);         // of the newest frame
  uint64_t commit_sequence_ ABSL_GUARDED_BY(writer_mutex_);  // of the newest frame that is a commit
  uint64_t synced_sequence_ ABSL_GUARDED_BY(writer_mutex_) =
      0;  // newest frame known to be on the disk
  std::map<CommittedState::Partition*, std::unique_ptr<PartitionWriter>> writers_
      ABSL_GUARDED_BY(writer_mutex_);
  DirtyFiles dirty_files_ ABSL_GUARDED_BY(writer_mutex_);
  DirtyFiles in_flight_ ABSL_GUARDED_BY(writer_mutex_);  // those that Sync flushes at the moment
  AppendClock append_clock_ ABSL_GUARDED_BY(writer_mutex_);
  BatchBuilder builder_ ABSL_GUARDED_BY(writer_mutex_);
  bool closed_ ABSL_GUARDED_BY(writer_mutex_) = false;
  EmbeddedLogStats stats_ ABSL_GUARDED_BY(writer_mutex_);

  std::atomic<bool> dirty_{false};  // commits since the last flush
  std::atomic<bool> rolled_{false};
};

}  // namespace pitwall::log
