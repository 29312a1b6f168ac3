// Active rules for one job, with their inputs and outputs: clock domains, the components that write
// to them, and issues.
#pragma once

#include "services/base/time.h"
#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/engine_series.h"
#include "services/engine/clocks/job_baselines.h"
#include "services/engine/clocks/job_issues.h"
#include "services/engine/clocks/row_writer.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/job_clock.h"

namespace pitwall::engine {

// Keeps all parts consistent when the rules change or the job's name or labels select other
// overrides. Not thread-safe.
class JobRules {
 public:
  // The pointers are borrowed.
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

  // Starts without state, using the rules from ClockDomains::SetRules.
  void Begin();
  // Replaces the rules of a running job. `at` is the job's watermark.
  void Replace(CompiledRulesPtr rules, const EvalTime& at, EventSink* out);
  // Applies a change to the job's name or labels at `time`. `at` is the job's watermark.
  void UpdateIdentity(EventTime time, const EvalTime& at, EventSink* out);
  // Must be called when the job has ended.
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
