#include "services/engine/clocks/job_rules.h"

#include <utility>

namespace pitwall::engine {

JobRules::JobRules(const EngineOptions& options, const JobIdentity* job, EngineCounters* counters,
                   LimitReport* limits, const JobClock* clock, const SourceMap* sources)
    : clock_(clock),
      domains_(options, job, counters),
      writer_(&domains_, limits),
      baselines_(job, &domains_, &writer_),
      series_(options, clock, &domains_, &writer_, &baselines_),
      issues_(options, job, counters, &domains_, sources) {}

void JobRules::Begin() {
  writer_.Rebind();
  domains_.Begin();
  issues_.Begin();
  baselines_.Find();
  series_.WriteAgain();
}

void JobRules::Replace(CompiledRulesPtr rules, const EvalTime& at, EventSink* out) {
  domains_.SetRules(std::move(rules));
  if (!clock_->begun()) return Begin();
  writer_.Rebind();
  issues_.ReplaceRules(at, clock_->origin(), out);
  baselines_.Change(PositionOf(series_.TimeAfter(clock_->watermark())));
  baselines_.ForgetColumns();
  series_.WriteAgain();
}

void JobRules::UpdateIdentity(EventTime time, const EvalTime& at, EventSink* out) {
  if (domains_.NeedsOtherProgram()) Replace(domains_.rules(), at, out);
  domains_.SetParameters();
  baselines_.Change(PositionOf(series_.TimeAfter(time)));
}

void JobRules::Clear() {
  domains_.Clear();
  issues_.Clear();
  series_.Clear();
  baselines_.Clear();
}

size_t JobRules::MemoryBytes() const {
  size_t bytes = issues_.MemoryBytes();
  domains_.ForEach([&](const ClockDomain& domain) { bytes += domain.MemoryBytes(); });
  return bytes;
}

}  // namespace pitwall::engine
