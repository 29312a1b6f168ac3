// The owner of one partition of pitwall.telemetry: poll -> decode -> bind -> window -> evaluate ->
// decide -> deliver, all in one thread, with no hand-over before the commit.
//
// A commit is one transaction: events, dead letters, the input offset, the clock tick if due
// (time.md, section 5). It is due at once when an event is in it, else every commit interval.
// Snapshots have transactions of their own (section 6).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/codec/snapshot_codec.h"
#include "services/engine/shard.h"
#include "services/pipeline/io.h"
#include "services/processor/rule_sets.h"

namespace pitwall::processor {

struct PartitionOptions {
  std::string group = "pitwall-processor";
  int64_t commit_interval_ns = kNanosPerSecond;
  int64_t snapshot_interval_ns = 60 * kNanosPerSecond;  // of log time
  size_t snapshots_per_round = 64;
  int64_t tick_interval_ns = kNanosPerSecond;
  int64_t max_tick_ns = 2 * kNanosPerSecond;
  int64_t outage_grace_ns = 15 * kNanosPerSecond;
  // False: the log brings all ticks itself (replay of a recorded log, tests).
  bool clock_ticks = true;
  size_t poll_records = 2000;
  size_t poll_bytes = 8 << 20;
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
  uint64_t snapshots = 0;
  uint64_t failed_commits = 0;
  size_t jobs = 0;
  size_t live_sources = 0;
  size_t memory_bytes = 0;
  bool recovering = true;
  std::string rule_set_hash;  // in force
};

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
  // Runs only in the owner's thread.
  const engine::Shard& shard() const { return *shard_; }

 private:
  // Snapshots at or before `committed`; `replay` is L, from where records are read again.
  Status LoadSnapshots(int64_t committed, int64_t replay);
  Status RestoreNewest(const std::string& job, int64_t replay,
                       std::array<std::optional<codec::Snapshot>, 2>* both);
  Status CommitNow(bool with_tick);
  Status ApplyTimed(const Commit& commit);
  Status WriteSnapshots(const std::vector<std::string>& jobs);
  bool TickDue(int64_t now);
  void Publish();
  std::string Metadata() const;

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
  engine::Outputs outputs_;      // since the last commit

  int64_t next_offset_ = 0;  // after the last record applied
  int64_t committed_offset_ = 0;
  int64_t suppress_below_ = 0;  // outputs of records below it were committed before
  uint64_t replayed_ = 0;
  int64_t last_commit_ns_ = 0;  // monotonic
  int64_t last_tick_ns_ = -1;   // -1: none yet by this owner
  int64_t last_probe_ns_ = -1;  // when the end of the log was last asked for
  int64_t end_seen_ = -1;       // the end that the log had then
  int64_t ticks_paused_until_ = 0;
  std::string appended_rules_;  // hash of the newest RuleSetChange that this owner wrote
  uint64_t commits_ = 0, snapshots_ = 0, failed_commits_ = 0;
  // Per job: the slot of its newest snapshot and the number of chunks in both.
  struct Slots {
    int newest = 1;
    uint32_t chunks[2] = {0, 0};
  };
  absl::btree_map<std::string, Slots> slots_;

  bool recovered_before_ = false;  // this owner has been away from the log once
  static constexpr size_t kDeadLettersPerCommit = 64;
  static constexpr int64_t kCountBytesEveryNs = 5 * kNanosPerSecond;
  int64_t count_bytes_at_ = 0;  // monotonic time
  size_t memory_bytes_ = 0;     // as of the last count

  mutable Mutex mutex_;
  std::string wanted_rules_ ABSL_GUARDED_BY(mutex_);
  PartitionStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
