// State of one partition: all of its jobs. Consumes the partition's records in offset order.
// Deterministic: the same records with the same append times produce bit-identical outputs.
// Single-threaded, independent of the system clock.
//
// The partition's owner (services/processor) polls, commits outputs and input offset together,
// writes clock ticks and snapshots, and recovers. To recover, it restores jobs from snapshots and
// feeds the records again, starting at the minimum offset that any job needs. A job ignores records
// below the offset of its own snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/engine/job/job.h"
#include "services/engine/job_table.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/engine/program/rule_set_history.h"

namespace pitwall::engine {

// Format of a job snapshot's payload. kSnapshotGone marks a job that no longer exists; it has no
// payload.
inline constexpr uint32_t kSnapshotGone = 1;
inline constexpr uint32_t kSnapshotJob = 7;
// Previous format, which can still be read (time-model.md, section 6). After a format change,
// increment kSnapshotJob and set this constant to its previous value. tests/upgrade enforces this
// rule.
inline constexpr uint32_t kSnapshotJobBefore = 6;  // read, never written
static_assert(kSnapshotJobBefore == kSnapshotJob - 1,
              "format n reads n - 1: Job::Restore gets the format that a snapshot has");

// Returns whether this version can read snapshots in `format`.
inline bool ReadsSnapshot(uint32_t format) {
  return format == kSnapshotGone || (format >= kSnapshotJobBefore && format <= kSnapshotJob);
}

struct JobSnapshot {
  std::string job;
  LogOffset offset;  // offset after the records that the state contains
  std::string rule_set_hash;
  uint32_t format = kSnapshotJob;
  std::string payload;
};

class Shard {
 public:
  Shard(RuleSetProvider* rules, const EngineOptions& options);
  ~Shard();

  // Sets the rule set that is active before the first record that is fed, or "" for no rules.
  Status SetInitialRules(const std::string& hash);
  // Sets the offset of the first record to read. replay_offset() returns it until that record is
  // read. Jobs that were not restored start at or after `strangers_from`, because jobs in earlier
  // records are over.
  void StartAt(LogOffset offset, LogOffset strangers_from = LogOffset::Min());
  // Rebuilds the jobs found below `upto` after job state was lost. `whole` means that the log
  // reaches back to its first record. If it does not, a job found within the first `silence` may
  // have started earlier, so its history is lost.
  void RebuildStrangers(LogOffset upto, bool whole);
  // Marks a job's history as lost if the job needs records below `upto`, which no longer exist.
  void LoseHistory(LogOffset upto);
  // Drops the job as if it had not been restored.
  void DropJob(const std::string& job) { jobs_.Drop(job); }
  // Postpones the job's snapshot by one interval, because it cannot be written now.
  void PostponeSnapshot(const std::string& job);
  // Resets the job's alerts and makes its snapshot due.
  void ReconcileAlerts(const std::string& job);
  Status RestoreJob(const JobSnapshot& snapshot);

  // Applies one record. Invalid bytes are counted and dead-lettered, and do not cause an error.
  // After an error (for example, if rules cannot be loaded), the record has not been applied and
  // must be fed again.
  Status Apply(LogOffset offset, AppendTime append_time, std::string_view key,
               std::string_view value, EventSink* out);
  // Applies all remaining input. With `end_jobs`, ends all jobs.
  void FinishInput(bool end_jobs, EventSink* out);

  // Covers offsets starting at replay_offset().
  const RuleSetHistory& rule_sets() const { return rule_sets_; }
  const JobTable& jobs() const { return jobs_; }
  // Returns the offset of the first record needed to rebuild the state from the snapshots (L in
  // time-model.md).
  LogOffset replay_offset() const { return jobs_.ReplayOffset(next_offset_); }

  // Returns the job's state after every record below `offset`. `offset` must be the offset after
  // the last applied record.
  JobSnapshot Snapshot(const std::string& job, LogOffset offset) const;
  // Must be called after the snapshot has been committed.
  void SnapshotCommitted(const JobSnapshot& snapshot);
  // Returns ended jobs whose markers are no longer needed, so that their keys can be deleted.
  // Forgets these jobs.
  std::vector<std::string> TakeForgotten() { return jobs_.TakeForgotten(next_offset_); }

  const EngineCounters& counters() const { return counters_; }

 private:
  Status ApplyControl(LogOffset offset, const ControlRecord& control, EventSink* out);
  void ApplyBatch(LogOffset offset, AppendTime append_time, const Batch& batch,
                  std::string_view raw, EventSink* out);

  RuleSetProvider* const rules_;
  const EngineOptions options_;
  EngineCounters counters_;
  codec::BatchDecoder decoder_;
  RuleSetHistory rule_sets_;
  CompiledRulesPtr rule_set_;  // The active rule set.
  JobTable jobs_;
  LogOffset next_offset_;
  LogOffset strangers_from_ = LogOffset::Min();
  LogOffset rebuild_upto_ = LogOffset::Min();  // Jobs found below this offset are rebuilt.
  bool rebuild_whole_ = true;
  Duration log_time_read_;  // In ticks since reading started.
};

}  // namespace pitwall::engine
