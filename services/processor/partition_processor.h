// The owner of one partition of pitwall.telemetry: poll -> decode -> bind -> window -> evaluate ->
// decide -> deliver, all in one thread, with no hand-over before the commit.
//
// A commit is one transaction: events, dead letters, the input offset, the clock tick if due
// (time-model.md, section 5). It is due at once when an event is in it, else every commit interval.
// Snapshots have transactions of their own (section 6).
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
  int64_t snapshot_interval_ns = 60 * kNanosPerSecond;  // of log time
  size_t snapshots_per_round = 64;
  int64_t tick_interval_ns = kNanosPerSecond;
  int64_t max_tick_ns = 2 * kNanosPerSecond;
  int64_t outage_grace_ns = 15 * kNanosPerSecond;
  // A partition without records commits at least this often, also while ticks pause: its last
  // commit shows that the log takes records.
  int64_t idle_commit_ns = 5 * kNanosPerSecond;
  // False: the log brings all ticks itself (replay of a recorded log, tests).
  bool clock_ticks = true;
  size_t poll_records = 2000;
  size_t poll_bytes = 8 << 20;
  codec::SnapshotLimits snapshot_limits;
  // Goes on, once, with a log that was cut or replaced: state is dropped, what is open ends.
  bool accept_log_reset = false;
  // Who commits, as others read it (host, process, start). No ';'. "": not said.
  std::string owner;
  // Of the process; null: none. Borrowed. While it says so nothing is read, and no clock tick is
  // written: what is said comes later, and is as true.
  MemoryBudget* memory = nullptr;
  engine::EngineOptions engine;
};

// What others may know of a partition; a consistent copy of the last commit.
struct PartitionStats {
  int32_t partition = 0;
  engine::EngineCounters counters;
  int64_t next_offset = 0;  // committed
  int64_t end_offset = 0;   // of the log, as last seen
  int64_t replay_offset = 0;
  uint64_t records_replayed = 0;  // read again at the last start
  uint64_t commits = 0;
  // Of the last commit, or of the recovery before the first, on the monotonic clock; 0 before both.
  // Each clock tick is a commit, so also an idle partition commits.
  int64_t last_commit_ns = 0;
  // When everything that the log held was last committed, on the monotonic clock; before that, when
  // this owner recovered; 0: it has not.
  int64_t caught_up_ns = 0;
  bool standby = false;  // another processor owns the partition
  uint64_t snapshots = 0;
  uint64_t failed_commits = 0;
  uint64_t refused_outputs = 0;  // dropped since the log never takes them
  size_t jobs = 0;
  size_t jobs_in_grace = 0;  // their attempt died, and they wait for a restart
  size_t live_sources = 0;
  size_t memory_bytes = 0;
  bool paused = false;  // for want of memory
  bool recovering = true;
  uint64_t input_losses = 0;     // stretches of the input that were gone when they should be read
  uint64_t rebuilt_jobs = 0;     // at the last start, without a snapshot at or after L
  size_t history_lost_jobs = 0;  // in Error until their windows are full
  std::string trouble;        // what is not as it should be though the partition runs; "": nothing
  std::string rule_set_hash;  // in force

  // This processor has recovered the partition, and no other one has it.
  bool owned() const { return last_commit_ns != 0 && !standby; }
};

// What an operator can do about a log that is not the one that was committed on.
inline constexpr std::string_view kAcceptReset =
    "bring the log back, or start once with --accept-log-reset: that drops the state of the "
    "partition, ends what is open and goes on with the log as it is";

// The same about state that cannot be restored.
inline constexpr std::string_view kDropState =
    "start once with --accept-log-reset: that drops the state of the partition, ends what is open "
    "and goes on with the log as it is";

class PartitionProcessor {
 public:
  // Everything borrowed must outlive this.
  PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                     const PartitionOptions& options);
  ~PartitionProcessor();

  // Loads the last commit and the snapshots it allows. Fences an older owner.
  Status Recover();
  // One round: polls up to `timeout_ns`, applies, commits what is due. Aborted: another owner took
  // over.
  Status RunOnce(int64_t timeout_ns);
  // Commits what is open, whether due or not, and snapshots all jobs (a clean stop makes the next
  // start cheap).
  Status Finish();
  // Ends a RunOnce that waits, from any thread.
  void Interrupt();

  // The rule set that should be in force: a control record says so in the log as soon as this owner
  // has caught up.
  void WantRules(std::string hash);
  // Everything that the log held a moment ago is applied and committed.
  bool CaughtUp();
  PartitionStats stats() const;
  // The jobs that each commit looks at, in place of those before.
  void Watch(std::vector<std::string> jobs);
  // Nothing: no commit has looked since, or old records are read again.
  std::optional<WatchedJob> Watched(const std::string& job) const;
  // Runs only in the owner's thread.
  const engine::Shard& shard() const { return *shard_; }

 private:
  // Where the log begins and ends, and what the last commit says (recovery.cc).
  struct Resume;
  StatusOr<Resume> FindResume();
  // FailedPrecondition: the log is not the one that was committed on.
  Status CheckLog(const Resume& resume);
  Status BeginWithRules(const Resume& resume);
  // Drops the state, ends what is open and begins with what is new in the log.
  Status AcceptLogReset(Resume* resume);
  // The operator wants the state dropped, this once, when it cannot be used.
  bool ResetAccepted(const Status& why);
  // Of what is gone for good, with what can be done.
  static Status WithWayOut(Status status);
  void BeginShard();
  Status Announce(const Resume& resume);
  // Restores what can be used of the saved state and decides from where records are read again.
  Status RestoreState(const Resume& resume);
  // From C on: what was told of jobs whose history was lost ends.
  Status Settle();
  Status Loss(const Status& status);
  Status TruncatedAt(int64_t end) const;

  Status PollInput(int64_t timeout_ns);
  // Nothing is read for now: commits what is open, and waits.
  Status PausedRound(int64_t timeout_ns);
  // Walks every pane: for the scrape's sake once in a while is enough, and after much input.
  void CountMemory();
  Status CommitNow(bool with_tick);
  // False: no output is left that may be dropped.
  bool DropLargestOutput(Commit* commit, const Status& refusal);
  void PostponeSnapshot(const std::string& job, const Status& why);
  Status ApplyTimed(const Commit& commit);
  Status WriteSnapshots(const std::vector<std::string>& jobs);
  Status DeleteForgotten();
  StatusOr<bool> TickDue(int64_t now);
  void Publish();
  std::map<std::string, WatchedJob, std::less<>> LookAtWatched() const;
  // `snapshots`: once the commit that carries it is done.
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
  size_t next_record_ = 0;       // of records_, first one not applied
  engine::EventSink outputs_;    // since the last commit

  int64_t next_offset_ = 0;  // after the last record applied
  int64_t committed_offset_ = 0;
  int64_t suppress_below_ = 0;  // outputs of records below it were committed before
  uint64_t replayed_ = 0;
  int64_t last_commit_ns_ = 0;  // monotonic
  int64_t caught_up_ns_ = 0;    // monotonic
  int64_t last_tick_ns_ = -1;   // -1: none yet by this owner
  int64_t last_probe_ns_ = -1;  // when the end of the log was last asked for
  int64_t end_seen_ = -1;       // the end that the log had then
  int64_t ticks_paused_until_ = 0;
  // Hash of the rule set of the records before the first change of rules; "": none.
  std::string initial_rules_;
  std::string appended_rules_;  // hash of the newest RuleSetChange that this owner wrote
  uint64_t commits_ = 0, snapshots_ = 0, failed_commits_ = 0, refused_outputs_ = 0;
  std::string refusal_;  // error of the last refused output
  std::map<std::string, JobSlots, std::less<>> slots_;
  SnapshotSum snapshot_sum_;  // over slots_
  std::optional<AppliedRecord> applied_;
  int64_t read_from_ = 0;    // of this start
  bool settle_due_ = false;  // at suppress_below_
  bool released_ = false;    // stopped: no owner
  GraceWatch grace_watch_;
  // What old records need is gone (a rule set): no recovery gets past this offset.
  Status replay_fault_;
  int64_t replay_fault_offset_ = -1;
  bool reset_accepted_ = false;  // accept_log_reset counts once
  uint64_t input_losses_ = 0, rebuilt_jobs_ = 0;
  std::map<std::string, std::string, std::less<>>
      unsaved_;  // jobs whose snapshots are refused: why

  bool recovered_before_ = false;  // this owner has been away from the log once
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
