// One partition's state: all its jobs, fed with the records of the partition in offset order.
// Deterministic: the same records with the same append times give the same outputs, to the bit.
// Single-threaded; reads no clock.
//
// The owner of the partition (services/processor) polls, commits outputs and input offset together,
// writes clock ticks and snapshots, and recovers: it restores jobs from snapshots and feeds records
// again from the least offset that one of them needs. A job ignores records below the offset of its
// own snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/codec/telemetry_codec.h"
#include "services/engine/job/job.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// Layout of a job snapshot's payload. kGone: the job was there and is no more; no payload.
inline constexpr uint32_t kSnapshotGone = 1;
inline constexpr uint32_t kSnapshotJob = 7;
// The format before it is read too (time-model.md, section 6): a change of the layout raises
// kSnapshotJob by one, and this to the number that kSnapshotJob had. tests/upgrade holds it to
// that.
inline constexpr uint32_t kSnapshotJobBefore = 6;  // read, never written
static_assert(kSnapshotJobBefore == kSnapshotJob - 1,
              "format n reads n - 1: Job::Restore gets the format that a snapshot has");

struct JobSnapshot {
  std::string job;
  int64_t offset = 0;  // state after every record below it
  std::string rule_set_hash;
  uint32_t format = kSnapshotJob;
  std::string payload;
};

class Shard {
 public:
  Shard(RuleSetProvider* rules, const EngineOptions& options);
  ~Shard();

  // The rule set in force before the first record that will be fed; "" for none.
  Status SetInitialRules(const std::string& hash);
  // Where reading begins, before the first record: what replay_offset() says until then. Jobs that
  // were not restored begin at or after `strangers_from`: what earlier records say of them is over.
  void StartAt(int64_t offset, int64_t strangers_from = INT64_MIN);
  // The state of jobs was lost: those met below `upto` are rebuilt. `whole`: the log reaches back
  // to its first record; else a job met in its first `silence_ns` may have begun before, and its
  // history is lost.
  void RebuildStrangers(int64_t upto, bool whole);
  // Records below `upto` are gone that jobs should have seen.
  void LoseHistory(int64_t upto);
  // As if it had not been restored.
  void DropJob(const std::string& job) { jobs_.erase(job); }
  // It cannot be written now: due again an interval later.
  void PostponeSnapshot(const std::string& job);
  // Jobs whose history was lost since they were settled last; once they are live, what was told of
  // their alerts must be squared with them.
  std::vector<std::string> NeedsReconcile() const;
  // The job's alerts start from nothing, and its snapshot is due.
  void ReconcileAlerts(const std::string& job);
  Status RestoreJob(const JobSnapshot& snapshot);
  // Whether snapshots of that format are this version's.
  static bool Knows(uint32_t format) {
    return format == kSnapshotGone || (format >= kSnapshotJobBefore && format <= kSnapshotJob);
  }

  // One record. Bad bytes are counted and dead-lettered, never an error; an error (rules cannot be
  // loaded) means that the record was not applied and must be fed again.
  Status Apply(int64_t offset, int64_t append_time_ns, std::string_view key, std::string_view value,
               EventSink* out);
  // The input is finished: everything read is applied; with `end_jobs` all jobs end.
  void FinishInput(bool end_jobs, EventSink* out);

  const std::string& rule_set_hash() const { return hash_; }
  // Of the rule set that was in force right before `offset`, which must not lie below
  // replay_offset().
  std::string RuleSetHashAt(int64_t offset) const;
  // The least offset from which records must be read to rebuild the state, given what was
  // snapshotted (L of time-model.md).
  int64_t replay_offset() const;

  // Jobs whose snapshot is older than `interval_ns` of log time, and jobs that went since theirs.
  // At most `limit`.
  std::vector<std::string> SnapshotsDue(int64_t interval_ns, size_t limit) const;
  // State after every record below `offset`, which is the one after the last record applied.
  JobSnapshot Snapshot(const std::string& job, int64_t offset) const;
  // That snapshot is committed.
  void SnapshotCommitted(const JobSnapshot& snapshot);
  // Jobs that are gone and whose markers nobody needs any more: their keys may be deleted. Forgets
  // them.
  std::vector<std::string> TakeForgotten();

  const EngineCounters& counters() const { return counters_; }
  EngineCounters& counters() { return counters_; }
  size_t jobs() const;
  const Job* FindJob(const std::string& id) const;
  std::vector<const Job*> Jobs() const;

 private:
  struct Entry {
    std::unique_ptr<Job> job;      // null: gone
    int64_t first_offset = 0;      // first record of it, for a job without snapshot
    int64_t from_offset = 0;       // records below it are part of the restored state
    int64_t snapshot_offset = -1;  // of the newest committed one
    int64_t snapshot_log_time = 0;
    int64_t gone_at = -1;         // offset after the record by which it went
    bool marked = false;          // the committed snapshot says that it is gone
    bool tombstone_kept = false;  // … that it has ended
    bool unsettled = false;
    bool snapshot_due = false;  // whatever its age
  };

  // A tombstone's snapshot says how old it is; by the hour is enough.
  static constexpr int64_t kTombstoneIntervalNs = 3600 * kNanosPerSecond;

  bool Full() const;
  // Forgets the job that ended first, as if its tombstone had expired, where there are too many; of
  // the owner's jobs as well.
  void EvictTombstones(int64_t offset, const std::string& owner);
  // The owner has as many jobs as one owner may have.
  bool ShareIsFull(const std::string& owner) const;
  Status ApplyControl(int64_t offset, const ControlRecord& control, EventSink* out);
  void ApplyBatch(int64_t offset, int64_t append_time_ns, const Batch& batch, std::string_view raw,
                  EventSink* out);

  RuleSetProvider* const rules_;
  const EngineOptions options_;
  EngineCounters counters_;
  codec::BatchDecoder decoder_;
  std::string hash_;
  CompiledRulesPtr rule_set_;
  // (offset of the change, hash), ascending; the first entry stands for everything before.
  std::vector<std::pair<int64_t, std::string>> hash_history_;
  std::map<std::string, Entry, std::less<>> jobs_;
  int64_t next_offset_ = 0;
  int64_t strangers_from_ = INT64_MIN;
  int64_t rebuild_upto_ = INT64_MIN;  // jobs met below it are rebuilt
  bool rebuild_whole_ = true;
  int64_t log_time_read_ns_ = 0;  // of ticks, since reading began
};

}  // namespace pitwall::engine
