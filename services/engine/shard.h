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
#include "services/engine/job_table.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/engine/program/rule_set_history.h"

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

// Whether this version reads snapshots of that format.
inline bool ReadsSnapshot(uint32_t format) {
  return format == kSnapshotGone || (format >= kSnapshotJobBefore && format <= kSnapshotJob);
}

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
  void DropJob(const std::string& job) { jobs_.Drop(job); }
  // It cannot be written now: due again an interval later.
  void PostponeSnapshot(const std::string& job);
  // The job's alerts start from nothing, and its snapshot is due.
  void ReconcileAlerts(const std::string& job);
  Status RestoreJob(const JobSnapshot& snapshot);

  // One record. Bad bytes are counted and dead-lettered, never an error; an error (rules cannot be
  // loaded) means that the record was not applied and must be fed again.
  Status Apply(int64_t offset, int64_t append_time_ns, std::string_view key, std::string_view value,
               EventSink* out);
  // The input is finished: everything read is applied; with `end_jobs` all jobs end.
  void FinishInput(bool end_jobs, EventSink* out);

  // Hashes that RuleSetHistory::HashAt gives reach back to replay_offset().
  const RuleSetHistory& rule_sets() const { return rule_sets_; }
  const JobTable& jobs() const { return jobs_; }
  // The least offset from which records must be read to rebuild the state, given what was
  // snapshotted (L of time-model.md).
  int64_t replay_offset() const { return jobs_.ReplayOffset(next_offset_); }

  // State after every record below `offset`, which is the one after the last record applied.
  JobSnapshot Snapshot(const std::string& job, int64_t offset) const;
  // That snapshot is committed.
  void SnapshotCommitted(const JobSnapshot& snapshot);
  // Jobs that are gone and whose markers nobody needs any more: their keys may be deleted. Forgets
  // them.
  std::vector<std::string> TakeForgotten() { return jobs_.TakeForgotten(next_offset_); }

  const EngineCounters& counters() const { return counters_; }

 private:
  Status ApplyControl(int64_t offset, const ControlRecord& control, EventSink* out);
  void ApplyBatch(int64_t offset, int64_t append_time_ns, const Batch& batch, std::string_view raw,
                  EventSink* out);

  RuleSetProvider* const rules_;
  const EngineOptions options_;
  EngineCounters counters_;
  codec::BatchDecoder decoder_;
  RuleSetHistory rule_sets_;
  CompiledRulesPtr rule_set_;  // in force now
  JobTable jobs_;
  int64_t next_offset_ = 0;
  int64_t strangers_from_ = INT64_MIN;
  int64_t rebuild_upto_ = INT64_MIN;  // jobs met below it are rebuilt
  bool rebuild_whole_ = true;
  int64_t log_time_read_ns_ = 0;  // of ticks, since reading began
};

}  // namespace pitwall::engine
