// Owner of one partition of pitwall.telemetry: poll -> decode -> bind -> window -> evaluate ->
// decide -> deliver, all in one thread, without a hand-over before the commit.
//
// A commit is one transaction: events, dead letters, the input offset, and the clock tick if due
// (time-model.md, section 5). It is due immediately if it has an event, and otherwise after the
// commit interval. Snapshots have separate transactions (section 6).
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
  int64_t snapshot_interval_ns = 60 * kNanosPerSecond;  // in log time
  size_t snapshots_per_round = 64;
  int64_t tick_interval_ns = kNanosPerSecond;
  int64_t max_tick_ns = 2 * kNanosPerSecond;
  int64_t outage_grace_ns = 15 * kNanosPerSecond;
  // Maximum interval between commits of a partition without records, also while ticks pause: its
  // last commit shows that the log accepts records.
  int64_t idle_commit_ns = 5 * kNanosPerSecond;
  // False: the log has all ticks (replay of a recorded log, tests).
  bool clock_ticks = true;
  size_t poll_records = 2000;
  size_t poll_bytes = 8 << 20;
  codec::SnapshotLimits snapshot_limits;
  // Continues, once, with a truncated or replaced log: drops the state and ends open issues.
  bool accept_log_reset = false;
  // Name of the committer for other processors (host, process, start), without ';'; "": unknown.
  std::string owner;
  // Memory budget of the process, borrowed; may be null. While it is exhausted, the partition
  // neither reads records nor writes clock ticks: events are delayed, but not changed.
  MemoryBudget* memory = nullptr;
  engine::EngineOptions engine;
};

// Public state of a partition: a consistent copy as of the last commit.
struct PartitionStats {
  int32_t partition = 0;
  engine::EngineCounters counters;
  int64_t next_offset = 0;  // committed
  int64_t end_offset = 0;   // of the log, as last read
  int64_t replay_offset = 0;
  uint64_t records_replayed = 0;  // read again at the last start
  uint64_t commits = 0;
  // Time of the last commit, or of the recovery before the first, on the monotonic clock; 0 before
  // both. Each clock tick is a commit, so an idle partition commits, too.
  int64_t last_commit_ns = 0;
  // Time at which all records of the log were last committed, on the monotonic clock; before that,
  // the time of this owner's recovery; 0: not recovered.
  int64_t caught_up_ns = 0;
  bool standby = false;  // another processor owns the partition
  uint64_t snapshots = 0;
  uint64_t failed_commits = 0;
  uint64_t refused_outputs = 0;  // dropped because the log permanently rejects them
  size_t jobs = 0;
  size_t jobs_in_grace = 0;  // waiting for a restart after their attempt died
  size_t live_sources = 0;
  size_t memory_bytes = 0;
  bool paused = false;  // because of insufficient memory
  bool recovering = true;
  uint64_t input_losses = 0;  // gaps of the input whose records were deleted before they were read
  uint64_t rebuilt_jobs = 0;  // at the last start, without a snapshot at or after L
  size_t history_lost_jobs = 0;  // in Error until their windows are full
  std::string trouble;           // a problem of the running partition, or ""
  std::string rule_set_hash;     // in force

  // Returns true if this processor has recovered the partition and no other owns it.
  bool owned() const { return last_commit_ns != 0 && !standby; }
};

// Remedy for a log that is not the one of the last commit.
inline constexpr std::string_view kAcceptReset =
    "bring the log back, or start once with --accept-log-reset: that drops the state of the "
    "partition, ends what is open and goes on with the log as it is";

// Remedy for state that cannot be restored.
inline constexpr std::string_view kDropState =
    "start once with --accept-log-reset: that drops the state of the partition, ends what is open "
    "and goes on with the log as it is";

class PartitionProcessor {
 public:
  // All pointers are borrowed and must outlive this.
  PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                     const PartitionOptions& options);
  ~PartitionProcessor();

  // Loads the last commit and its snapshots. Fences an older owner.
  Status Recover();
  // Runs one round: polls up to `timeout_ns`, applies the records, and commits if due. Aborted:
  // another owner took over.
  Status RunOnce(int64_t timeout_ns);
  // Commits immediately and writes snapshots of all jobs, so that the next start is fast.
  Status Finish();
  // Ends a waiting RunOnce. Called from any thread.
  void Interrupt();

  // Sets the rule set that should be in force: once this owner has caught up, a control record in
  // the log activates it.
  void WantRules(std::string hash);
  // Returns true if all records of the log were applied and committed a moment ago.
  bool CaughtUp();
  PartitionStats stats() const;
  // Replaces the list of jobs that each commit inspects.
  void Watch(std::vector<std::string> jobs);
  // Returns nothing if no commit has inspected the job since, or old records are read again.
  std::optional<WatchedJob> Watched(const std::string& job) const;
  // Called only by the owner's thread.
  const engine::Shard& shard() const { return *shard_; }

 private:
  // Start and end of the log, and metadata of the last commit (recovery.cc).
  struct Resume;
  StatusOr<Resume> FindResume();
  // FailedPrecondition: the log is not the one of the last commit.
  Status CheckLog(const Resume& resume);
  Status BeginWithRules(const Resume& resume);
  // Drops the state, ends open issues, and begins at the new records of the log.
  Status AcceptLogReset(Resume* resume);
  // Returns true if the operator accepted, for this start, that unusable state is dropped.
  bool ResetAccepted(const Status& why);
  // Adds the remedy to an error about permanently lost data.
  static Status WithWayOut(Status status);
  void BeginShard();
  Status Announce(const Resume& resume);
  // Restores the usable part of the saved state and determines the offset from which records are
  // read again.
  Status RestoreState(const Resume& resume);
  // Ends published issues of jobs with lost history. Called at offset C.
  Status Settle();
  Status Loss(const Status& status);
  Status TruncatedAt(int64_t end) const;

  Status PollInput(int64_t timeout_ns);
  // Commits pending outputs and waits, since reading is paused.
  Status PausedRound(int64_t timeout_ns);
  // Walks every pane, so it runs occasionally and after much input.
  void CountMemory();
  Status CommitNow(bool with_tick);
  // Returns false if no output is left that may be dropped.
  bool DropLargestOutput(Commit* commit, const Status& refusal);
  void PostponeSnapshot(const std::string& job, const Status& why);
  Status ApplyTimed(const Commit& commit);
  Status WriteSnapshots(const std::vector<std::string>& jobs);
  Status DeleteForgotten();
  StatusOr<bool> TickDue(int64_t now);
  void Publish();
  std::map<std::string, WatchedJob, std::less<>> LookAtWatched() const;
  // `snapshots`: after the commit that has this metadata.
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
  std::vector<Record> records_;  // reused
  size_t next_record_ = 0;       // index in records_ of the first one not applied
  engine::EventSink outputs_;    // since the last commit

  int64_t next_offset_ = 0;  // after the last applied record
  int64_t committed_offset_ = 0;
  int64_t suppress_below_ = 0;  // outputs of earlier records were committed before
  uint64_t replayed_ = 0;
  int64_t last_commit_ns_ = 0;  // monotonic
  int64_t caught_up_ns_ = 0;    // monotonic
  int64_t last_tick_ns_ = -1;   // -1: none yet by this owner
  int64_t last_probe_ns_ = -1;  // last read of the end of the log
  int64_t end_seen_ = -1;       // end of the log at that time
  int64_t ticks_paused_until_ = 0;
  // Hash of the rule set of the records before the first change of rules, or "".
  std::string initial_rules_;
  std::string appended_rules_;  // hash of the newest RuleSetChange written by this owner
  uint64_t commits_ = 0, snapshots_ = 0, failed_commits_ = 0, refused_outputs_ = 0;
  std::string refusal_;  // error of the last rejected output
  std::map<std::string, JobSlots, std::less<>> slots_;
  SnapshotSum snapshot_sum_;  // over slots_
  std::optional<AppliedRecord> applied_;
  int64_t read_from_ = 0;    // at this start
  bool settle_due_ = false;  // at suppress_below_
  bool released_ = false;    // stopped: no owner
  GraceWatch grace_watch_;
  // Old records need a rule set that is lost: no recovery gets past this offset.
  Status replay_fault_;
  int64_t replay_fault_offset_ = -1;
  bool reset_accepted_ = false;  // accept_log_reset applies once
  uint64_t input_losses_ = 0, rebuilt_jobs_ = 0;
  std::map<std::string, std::string, std::less<>>
      unsaved_;  // jobs whose snapshots were rejected, with the reason

  bool recovered_before_ = false;  // this owner has recovered before
  static constexpr size_t kDeadLettersPerCommit = 64;
  static constexpr int64_t kCountMemoryEveryNs = 5 * kNanosPerSecond;
  static constexpr size_t kCountMemoryEveryBytes = 16 << 20;  // of input
  int64_t count_memory_at_ = 0;                               // monotonic time
  size_t uncounted_bytes_ = 0;                                // of input, since the last count
  size_t memory_bytes_ = 0;                                   // as of the last count
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
