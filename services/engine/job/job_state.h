// State of a job, without the parts that apply records to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_input.h"
#include "services/engine/job/job_lifecycle.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/lifecycle/job_owner.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/job_clock.h"
#include "services/engine/sources/job_input.h"
#include "services/engine/sources/log_time.h"

namespace pitwall::engine {

// Each part enforces its own invariants and depends only on parts declared above it.
struct JobState {
  // `options` and `counters` are borrowed.
  JobState(std::string id, const EngineOptions& options, EngineCounters* counters);
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;

  const ClockDomains& domains() const { return rules.domains(); }
  const SourceTable& sources() const { return input.sources(); }

  // Drops all state except the name and the details of the job's end.
  void Forget();
  // Returns the bytes held outside this object.
  size_t HeldBytes() const;

  void Save(BinaryWriter& out) const;
  // `format` is kSnapshotJob or kSnapshotJobBefore. In the previous format, missing fields get
  // empty default values.
  Status Restore(BinaryReader& in, uint32_t format);

  JobIdentity identity;
  JobOwner owner;
  JobClock clock;
  // Time of the clock ticks that the job has read. Determines when snapshots are due.
  LogTime log_time;
  LimitReport limits;
  JobInput input;
  JobRules rules;
  JobAttempt attempt;
  StepInput steps;
  JobLifecycle lifecycle;
};

}  // namespace pitwall::engine
