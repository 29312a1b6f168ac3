// Owner of one pitwall.telemetry partition: poll -> decode -> bind -> window -> evaluate ->
// decide -> deliver. All stages run in one thread without queues between them.
//
// A commit is one transaction that contains events, dead letters, the input offset, and the clock
// tick if a tick is due (time-model.md, section 5). A commit is due immediately if there is an
// event,
// and otherwise after the commit interval. Snapshots are written in separate transactions
// (section 6).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/memory_budget.h"
#include "services/codec/snapshot_codec.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/grace_watch.h"
#include "services/processor/rule_sets.h"
#include "services/processor/running_jobs.h"
#include "services/processor/snapshot_topic.h"

namespace pitwall::processor {

struct PartitionOptions {
  std::string group = "pitwall-processor";
  int64_t commit_interval_ns = kNanosPerSecond;
  int64_t snapshot_interval_ns = 60 * kNanosPerSecond;  // measured in log time
  size_t snapshots_per_round = 64;
  int64_t tick_interval_ns = kNanosPerSecond;
  int64_t max_tick_ns = 2 * kNanosPerSecond;
  int64_t outage_grace_ns = 15 * kNanosPerSecond;
  // Maximum interval between the commits of a partition without records. Commits continue while
  // clock ticks are paused, so the age of the last commit shows whether the log accepts records.
  int64_t idle_commit_ns = 5 * kNanosPerSecond;
  // If false, the processor does not write clock ticks because the log already contains them
  // (replay of a recorded log, tests).
  bool clock_ticks = true;
  size_t poll_records = 2000;
  size_t poll_bytes = 8 << 20;
  codec::SnapshotLimits snapshot_limits;
  // If true, the processor accepts a truncated or replaced log once: it drops the state and ends
  // open issues.
  bool accept_log_reset = false;
  // Name that identifies this owner to other processors (host, process, start time). Must not
  // contain ';'. "" means unknown.
  std::string owner;
  // Memory budget of the process. Not owned; may be null. While the budget is exhausted, the
  // partition neither reads records nor writes clock ticks. This delays events but does not change
  // them.
  MemoryBudget* memory = nullptr;
  engine::EngineOptions engine;
};

// Public state of a partition, copied consistently at the last commit.
struct PartitionStats {
  int32_t partition = 0;
  engine::EngineCounters counters;
  int64_t next_offset = 0;  // committed input offset
  int64_t end_offset = 0;   // end of the log when it was last read
  int64_t replay_offset = 0;
  uint64_t records_replayed = 0;  // records replayed at the last start
  uint64_t commits = 0;
  // Monotonic time of the last commit, or of the recovery if there has been no commit since. 0
  // before the recovery. Each clock tick is a commit, so an idle partition also commits.
  int64_t last_commit_ns = 0;
  // Monotonic time at which the processor last had committed all records in the log. Initially, the
  // time of this owner's recovery. 0 before the recovery.
  int64_t caught_up_ns = 0;
  bool standby = false;  // another processor owns the partition
  uint64_t snapshots = 0;
  uint64_t failed_commits = 0;
  uint64_t refused_outputs = 0;  // outputs dropped because the log permanently rejects them
  size_t jobs = 0;
  size_t jobs_in_grace = 0;  // jobs that are waiting for a restart after their attempt died
  size_t live_sources = 0;
  size_t memory_bytes = 0;
  bool paused = false;  // true if reading is paused because the memory budget is exhausted
  bool recovering = true;
  uint64_t input_losses = 0;  // number of gaps in the input: records deleted before they were read
  uint64_t rebuilt_jobs = 0;  // jobs that had no snapshot at or after offset L at the last start
  size_t history_lost_jobs = 0;  // jobs whose rules are in Error until their windows are full again
  std::string trouble;           // problem of the running partition, or ""
  std::string rule_set_hash;     // hash of the active rule set

  // Returns true if this processor has recovered the partition and no other processor owns it.
  bool owned() const { return last_commit_ns != 0 && !standby; }
};

// Remedy to suggest if the log does not match the last commit.
inline constexpr std::string_view kAcceptReset =
    "restore the log, or start once with --accept-log-reset, which drops the state of the "
    "partition, ends open issues, and continues with the existing log";

// Remedy to suggest if the state cannot be restored.
inline constexpr std::string_view kDropState =
    "start once with --accept-log-reset, which drops the state of the partition, ends open issues, "
    "and continues with the existing log";

class PartitionProcessor {
 public:
  // All pointers must outlive the processor.
  PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                     const PartitionOptions& options);
  ~PartitionProcessor();

  // Loads the last commit and its snapshots, and fences the previous owner.
  Status Recover();
  // Runs one iteration: polls for up to `timeout_ns`, applies the records, and commits if a commit
  // is due. Returns Aborted if another owner has taken over.
  Status RunOnce(int64_t timeout_ns);
  // Commits immediately and writes snapshots of all jobs, so that the next start is fast.
  Status Finish();
  // Interrupts a waiting RunOnce. May be called from any thread.
  void Interrupt();

  // Sets the desired rule set. As soon as this owner has caught up, it appends a control record
  // that activates the rule set.
  void WantRules(std::string hash);
  // Returns true if all records currently in the log are applied and committed.
  bool CaughtUp();
  PartitionStats stats() const;
  // Replaces the list of watched jobs. Each commit records the state of these jobs for Watched.
  void Watch(std::vector<std::string> jobs);
  // Returns the job's state at the last commit. Returns nullopt if no commit has recorded the job
  // yet, or while old records are replayed.
  std::optional<WatchedJob> Watched(const std::string& job) const;
  // Must be called only on the owner's thread.
  const engine::Shard& shard() const { return *shard_; }

 private:
  // Start and end of the log, and the metadata of the last commit (recovery.cc).
  struct Resume;
  StatusOr<Resume> FindResume();
  // Returns FailedPrecondition if the log does not match the last commit.
  Status CheckLog(const Resume& resume);
  Status BeginWithRules(const Resume& resume);
  // Drops the state, ends open issues, and continues with the new log's records.
  Status AcceptLogReset(Resume* resume);
  // Returns true if the operator has allowed this start to drop unusable state.
  bool ResetAccepted(const Status& why);
  // Appends the remedy to an error that reports permanent data loss.
  static Status WithRemedy(Status status);
  void BeginShard();
  Status Announce(const Resume& resume);
  // Restores the usable part of the saved state and determines the replay's start offset.
  Status RestoreState(const Resume& resume);
  // Ends the published issues of jobs whose history is lost. Must be called at offset C.
  Status Settle();
  Status Loss(const Status& status);
  Status TruncatedAt(int64_t end) const;

  Status PollInput(int64_t timeout_ns);
  // Commits pending outputs, and then waits because reading is paused.
  Status PausedRound(int64_t timeout_ns);
  // Measures the memory of all jobs. The measurement visits every pane, so it runs only
  // periodically and after large inputs.
  void CountMemory();
  Status CommitNow(bool with_tick);
  // Drops the largest output from the commit. Returns false if no remaining output may be dropped.
  bool DropLargestOutput(Commit* commit, const Status& refusal);
  void PostponeSnapshot(const std::string& job, const Status& why);
  Status ApplyTimed(const Commit& commit);
  Status WriteSnapshots(const std::vector<std::string>& jobs);
  Status DeleteForgotten();
  StatusOr<bool> TickDue(int64_t now);
  void Publish();
  std::map<std::string, WatchedJob, std::less<>> InspectWatched() const;
  // Returns the commit metadata that describes the stored snapshots as `snapshots`.
  std::string Metadata(const SnapshotSum& snapshots) const;

  const int32_t partition_;
  Clock* const clock_;
  Log* const log_;
  RuleSets* const rules_;
  const PartitionOptions options_;
  const TopicPartition input_;
  std::unique_ptr<engine::Shard> shard_;
  std::unique_ptr<PartitionReader> reader_;
  std::unique_ptr<Committer> committer_;
  std::vector<Record> records_;  // reused between polls
  size_t next_record_ = 0;  // index of the first record in records_ that has not been applied yet
  engine::EventSink outputs_;  // outputs since the last commit

  int64_t next_offset_ = 0;  // offset after the last applied record
  int64_t committed_offset_ = 0;
  int64_t suppress_below_ = 0;  // outputs of records below this offset have already been committed
  uint64_t replayed_ = 0;
  int64_t last_commit_ns_ = 0;  // monotonic time
  int64_t caught_up_ns_ = 0;    // monotonic time
  int64_t last_tick_ns_ = -1;   // -1 if this owner has not written a tick yet
  int64_t last_probe_ns_ = -1;  // time at which the end of the log was last read
  int64_t end_seen_ = -1;       // end of the log at last_probe_ns_
  int64_t ticks_paused_until_ = 0;
  // Hash of the rule set that applies to the records before the first rule change, or "".
  std::string initial_rules_;
  std::string appended_rules_;  // hash of the newest RuleSetChange that this owner wrote
  uint64_t commits_ = 0, snapshots_ = 0, failed_commits_ = 0, refused_outputs_ = 0;
  std::string refusal_;  // error of the last rejected output
  std::map<std::string, JobSlots, std::less<>> slots_;
  SnapshotSum snapshot_sum_;  // sum of slots_
  std::optional<AppliedRecord> applied_;
  int64_t read_from_ = 0;    // offset at which this process started to read
  bool settle_due_ = false;  // true if Settle must run at suppress_below_
  bool released_ = false;    // true if this owner has stopped and released the partition
  GraceWatch grace_watch_;
  // Error for an old record that requires a lost rule set. Recovery cannot continue past the
  // record's offset.
  Status replay_fault_;
  int64_t replay_fault_offset_ = -1;
  bool reset_accepted_ = false;  // true once accept_log_reset was used; it applies only once
  uint64_t input_losses_ = 0, rebuilt_jobs_ = 0;
  std::map<std::string, std::string, std::less<>>
      unsaved_;  // rejection reasons of unsaved snapshots, by job ID

  bool recovered_before_ = false;  // true if this owner has recovered before
  static constexpr size_t kDeadLettersPerCommit = 64;
  static constexpr int64_t kCountMemoryEveryNs = 5 * kNanosPerSecond;
  static constexpr size_t kCountMemoryEveryBytes = 16 << 20;  // measured in input bytes
  int64_t count_memory_at_ = 0;                               // monotonic time
  size_t uncounted_bytes_ = 0;  // input bytes since the last memory measurement
  size_t memory_bytes_ = 0;     // memory usage at the last measurement
  std::unique_ptr<MemoryBudget::Account> account_;
  std::unique_ptr<Wakeup> pause_;
  bool paused_ = false;

  mutable Mutex mutex_;
  std::string wanted_rules_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> watch_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, WatchedJob, std::less<>> watched_ ABSL_GUARDED_BY(mutex_);
  PartitionStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
