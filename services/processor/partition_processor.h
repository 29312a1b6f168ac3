// Owner of one pitwall.telemetry partition: poll -> decode -> bind -> window -> evaluate ->
// decide -> deliver. All stages run in one thread without queues between them.
//
// A commit is one transaction that contains events, dead letters, the input offset, and the clock
// tick if a tick is due (time-model.md, section 5). A commit is due immediately if there is an
// event, and otherwise after the commit interval. Snapshots are written in separate transactions
// (section 6).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/time.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/grace_watch.h"
#include "services/processor/partition/clock_ticks.h"
#include "services/processor/partition/commit_pipeline.h"
#include "services/processor/partition/end_probe.h"
#include "services/processor/partition/memory_gate.h"
#include "services/processor/partition/partition_input.h"
#include "services/processor/partition/partition_options.h"
#include "services/processor/partition/partition_stats.h"
#include "services/processor/partition/shared_state.h"
#include "services/processor/partition/snapshot_writer.h"
#include "services/processor/partition/stored_snapshots.h"
#include "services/processor/recovery/log_reset.h"
#include "services/processor/recovery/replay.h"
#include "services/processor/recovery/resume_point.h"
#include "services/processor/rule_sets.h"
#include "services/processor/running_jobs.h"

namespace pitwall::processor {

// Owner of one partition. WantRules, stats, Watch, and Watched may be called from any thread; all
// other functions must be called on the owner's thread.
class PartitionProcessor {
 public:
  // All pointers must outlive the processor.
  PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                     const PartitionOptions& options);
  ~PartitionProcessor();

  // Loads the last commit and its snapshots, and fences the previous owner.
  Status Recover();
  // Runs one iteration: polls for up to `timeout`, applies the records, and commits if a commit is
  // due. Returns Aborted if another owner has taken over.
  Status RunOnce(Duration timeout);
  // Commits immediately and writes snapshots of all jobs, so that the next start is fast.
  Status Finish();

  // Sets the desired rule set. As soon as this owner has caught up, it appends a control record
  // that activates the rule set.
  void WantRules(std::string hash) { shared_.WantRules(std::move(hash)); }
  // Returns true if all records currently in the log are applied and committed.
  bool CaughtUp();
  PartitionStats stats() const { return shared_.stats(); }
  // Replaces the list of watched jobs. Each commit records the state of these jobs for Watched.
  void Watch(std::vector<std::string> jobs) { shared_.Watch(std::move(jobs)); }
  // Returns the job's state at the last commit. Returns nullopt if no commit has recorded the job
  // yet, or while old records are replayed.
  std::optional<WatchedJob> Watched(const std::string& job) const { return shared_.Watched(job); }
  const engine::Shard& shard() const { return *shard_; }

 private:
  void BeginShard();
  // Restores the state at the last commit, or starts with an empty state. Returns the offset where
  // the input continues (recovery.cc).
  StatusOr<int64_t> Restore(ResumePoint* resume);

  Status PollInput(Duration timeout);
  // Applies the records that were read, up to the first that requires a commit.
  Status ApplyRecords();
  // Commits pending outputs and then waits, because reading is paused.
  Status PausedRound(Duration timeout);
  StatusOr<bool> TickDue(MonotonicTime now);
  // Returns the desired rule set if its activation is due, or "".
  std::string RulesDue() const;
  Status CommitNow(bool with_tick);
  // Returns the commit metadata, with `snapshots` as the summary of the stored snapshots.
  std::string Metadata(const SnapshotSum& snapshots) const;
  void Publish();

  Clock* const clock_;
  Log* const log_;
  RuleSets* const rules_;
  const PartitionOptions options_;
  const TopicPartition topic_;
  std::unique_ptr<engine::Shard> shard_;
  PartitionInput input_;
  EndProbe end_;
  MemoryGate memory_;
  ClockTicks ticks_;
  CommitPipeline commits_;
  StoredSnapshots stored_;
  SnapshotWriter snapshots_;
  Replay replay_;
  LogReset reset_;
  GraceWatch grace_watch_;
  // Hash of the rule set that applies to the records before the first rule change, or "".
  std::string initial_rules_;
  std::string appended_rules_;  // hash of the newest RuleSetChange that this owner wrote
  bool released_ = false;       // true if this owner has stopped and released the partition
  SharedState shared_;
};

}  // namespace pitwall::processor
