// Refusals of one job: counts each as a drop and gives the job's rules the reason for their Error
// status. Each new reason is a status event of every rule, so the reasons are fixed texts.
#pragma once

#include <cstddef>
#include <string_view>

#include "services/base/status.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// Not thread-safe.
class LimitReport {
 public:
  // All are borrowed. Reasons go to `job`.
  LimitReport(const EngineOptions& options, JobIdentity* job, EngineCounters* counters);

  void CountSource();
  // A source has too many modes of steps, or one with too long a name.
  void CountMode();
  // The job holds `limit_bytes` that cannot be applied yet, most of it `largest` (kHeldNames).
  void CountPending(size_t samples, size_t limit_bytes, std::string_view largest);
  // Too many groups of ranks are behind in their steps. The rows that this drops are counted apart.
  void NoteSeparateClocks();
  // Counts a series that a store refused. OK: counts nothing.
  void CountSeries(const Status& interned);
  // Counts samples that a store refused: late ones, or those beyond its limit, where `waiting`
  // names what it has too much of. OK: counts nothing.
  void CountSamples(const Status& appended, size_t samples,
                    std::string_view waiting = "samples that wait for the next tick");

 private:
  const EngineOptions& options_;
  JobIdentity* const job_;
  EngineCounters* const counters_;
};

}  // namespace pitwall::engine
