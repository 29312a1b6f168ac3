// Uncommitted outputs of a partition, and the transactions that commit them together with the input
// offset (time-model.md, section 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/program/event_sink.h"
#include "services/io/io.h"
#include "services/processor/partition/clock_ticks.h"
#include "services/processor/partition/partition_options.h"
#include "services/processor/partition/partition_stats.h"

namespace pitwall::processor {

// Commits for one partition. Not thread-safe.
class CommitPipeline {
 public:
  // `clock`, `ticks`, and `options` must outlive this object.
  CommitPipeline(TopicPartition input, Clock* clock, ClockTicks* ticks,
                 const PartitionOptions& options)
      : input_(std::move(input)), clock_(clock), ticks_(ticks), options_(options) {}

  // Fences the previous owner and drops uncommitted outputs.
  Status Open(Log* log);
  // Starts at time `now` with the committed offset `offset`.
  void Begin(int64_t offset, MonotonicTime now);

  // Returns the sink for outputs of the next commit.
  engine::EventSink* outputs() { return &outputs_; }
  // Returns true if there are uncommitted events.
  bool has_events() const { return !outputs_.events.empty(); }
  // Returns true if a commit is due before any more records are applied. Limits the number of
  // uncommitted dead letters.
  bool MustCommit() const;
  // Returns true if the input up to `next_offset` or any dead letter has not been committed.
  bool Pending(int64_t next_offset) const;
  // Returns true if no commit has taken place in the last `interval`.
  bool Elapsed(MonotonicTime now, Duration interval) const {
    return now - stats_.last_commit >= interval;
  }

  // Returns a commit with the input offset and no outputs.
  Commit NewCommit(int64_t next_offset, std::string metadata) const;
  // Adds the uncommitted outputs.
  void AddOutputs(Commit* commit) const;
  // Applies a commit built by NewCommit and AddOutputs. Drops outputs that the log permanently
  // rejects. On success, no uncommitted outputs remain.
  Status CommitOutputs(Commit* commit);
  // Applies a commit that contains none of the uncommitted outputs. Pauses clock ticks if the log
  // fails or is slow.
  Status Apply(const Commit& commit);
  // Applies a recovery commit. Does not affect clock ticks.
  Status ApplyInRecovery(const Commit& commit) { return committer_->Apply(commit); }

  int64_t committed_offset() const { return stats_.next_offset; }
  MonotonicTime last_commit() const { return stats_.last_commit; }
  const CommitStats& stats() const { return stats_; }
  // Returns the error for the last rejected output.
  const std::string& refusal() const { return refusal_; }

 private:
  // Drops the largest output from the commit. Returns false if no remaining output may be dropped.
  bool DropLargestOutput(Commit* commit, const Status& refusal);

  const TopicPartition input_;
  Clock* const clock_;
  ClockTicks* const ticks_;
  const PartitionOptions& options_;
  std::unique_ptr<Committer> committer_;
  engine::EventSink outputs_;  // outputs since the last commit
  CommitStats stats_;
  std::string refusal_;
};

// Returns the record for an event on pitwall.issues.
OutgoingRecord IssueRecord(int32_t partition, const IssueEvent& event);

}  // namespace pitwall::processor
