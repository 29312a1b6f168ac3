// Reader for one partition of pitwall.issues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/executor/executor.h"
#include "services/executor/worker/worker_health.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"

namespace pitwall::executor {

// Reader that tracks the position for the worker to commit. Detects a replaced log
// (docs/decisions/0022-store-a-log-mark-with-each-position.md). Not thread-safe, except Interrupt.
// All pointers are borrowed.
class IssueReader {
 public:
  // `group` is the consumer group of this node.
  IssueReader(Clock* clock, Log* log, ExecutorCounters* counters, WorkerHealth* health,
              TopicPartition at, std::string group);

  // Opens the partition at the committed position, or at the end on the first start.
  Status Open();
  // Rewinds to the committed position. Returns true if this worker made the last commit.
  StatusOr<bool> Rewind();
  // Reads the next records. After the log was replaced, continues at its end.
  Status Poll(Duration wait, FollowedRecords* read);
  int64_t position() const { return follower_.position(); }
  StatusOr<int64_t> EndOffset() { return follower_.EndOffset(); }
  // Interrupts a blocked Poll. May be called from another thread.
  void Interrupt() { follower_.Interrupt(); }

  // Returns the metadata for the next position commit.
  std::string NextCommit();
  // Handles a successful commit. `next_offset` is negative if the commit had no position.
  void NoteCommit(int64_t next_offset);
  // Returns true if the position has changed and the next commit is due.
  bool IsCommitDue() const;

 private:
  // Sets the start to the committed position, or to `otherwise` if none is committed.
  StatusOr<std::optional<CommittedOffset>> SetStart(int64_t otherwise);

  Clock* const clock_;
  Log* const log_;
  ExecutorCounters* const counters_;
  WorkerHealth* const health_;
  const std::string group_;
  const std::string name_;  // globally unique worker name
  TopicFollower follower_;
  int64_t begin_ = 0;  // first offset that this process has read
  uint64_t commits_ = 0;
  std::string last_commit_;  // metadata of the last committed position
  int64_t committed_ = -1;
  int64_t committed_at_ns_ = 0;
};

}  // namespace pitwall::executor
