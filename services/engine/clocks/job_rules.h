// The rules of one job in force, with all that they read and find: its clock domains, what is
// written to these, and the issues.
#pragma once

#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/engine_series.h"
#include "services/engine/clocks/job_baselines.h"
#include "services/engine/clocks/job_issues.h"
#include "services/engine/clocks/row_writer.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/job_clock.h"

namespace pitwall::engine {

// Keeps its parts in step when the rules, or the names by which they apply, change. Not
// thread-safe.
class JobRules {
 public:
  // All are borrowed.
  JobRules(const EngineOptions& options, const JobIdentity* job, EngineCounters* counters,
           LimitReport* limits, const JobClock* clock, const SourceMap* sources);

  ClockDomains& domains() { return domains_; }
  const ClockDomains& domains() const { return domains_; }
  RowWriter& writer() { return writer_; }
  JobBaselines& baselines() { return baselines_; }
  EngineSeries& series() { return series_; }
  const EngineSeries& series() const { return series_; }
  JobIssues& issues() { return issues_; }
  const JobIssues& issues() const { return issues_; }

  // Begins without state, with the rules of ClockDomains::SetRules.
  void Begin();
  // Takes other rules into a job that runs. `at`: its watermark.
  void Replace(CompiledRulesPtr rules, const EvalTime& at, EventSink* out);
  // The name or a label of the job has changed at event time `position`. `at`: its watermark.
  void UpdateIdentity(int64_t position, const EvalTime& at, EventSink* out);
  // The job has ended.
  void Clear();
  size_t MemoryBytes() const;

 private:
  const JobClock* const clock_;
  ClockDomains domains_;
  RowWriter writer_;
  JobBaselines baselines_;
  EngineSeries series_;
  JobIssues issues_;
};

}  // namespace pitwall::engine
