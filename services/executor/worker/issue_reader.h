// Reader for one partition of pitwall.issues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/executor/executor.h"
#include "services/executor/worker/worker_health.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"

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
  // Reads the next records. If the reader moved back because the log was replaced, does not read
  // until FollowReplaced succeeds.
  Status Poll(size_t max_records, size_t max_bytes, Duration wait, std::vector<Record>* records);
  // Marks the record as read.
  void Note(const Record& record) { mark_ = {record.offset, record.append_time}; }
  int64_t position() const { return reader_->position(); }
  StatusOr<int64_t> EndOffset() { return reader_->EndOffset(); }
  // Resumes at the end of a replaced log. Must be called after a Poll without records. Returns true
  // if the log was replaced.
  StatusOr<bool> FollowReplaced();
  // Interrupts a blocked Poll. May be called from another thread.
  void Interrupt() { reader_->Interrupt(); }

  // Returns the metadata for the next position commit.
  std::string NextCommit();
  // Handles a successful commit. `next_offset` is negative if the commit had no position.
  void NoteCommit(int64_t next_offset);
  // Returns true if the position has changed and the next commit is due.
  bool IsCommitDue() const;

 private:
  // Returns the position to resume from, which is the committed position or the end of a replaced
  // log.
  StatusOr<int64_t> Resume(const CommittedOffset& committed);
  void NoteReset(std::string text);

  Clock* const clock_;
  Log* const log_;
  ExecutorCounters* const counters_;
  WorkerHealth* const health_;
  const TopicPartition at_;
  const std::string group_;
  const std::string name_;  // globally unique worker name
  std::unique_ptr<PartitionReader> reader_;
  int64_t begin_ = 0;        // first offset that this process has read
  int64_t polled_from_ = 0;  // position before the last Poll; a lower position is in a replaced log
  uint64_t commits_ = 0;
  LogFingerprint mark_;      // mark of the newest record that was read
  std::string last_commit_;  // metadata of the last committed position
  int64_t committed_ = -1;
  int64_t committed_at_ns_ = 0;
};

}  // namespace pitwall::executor
