// Reporter for data that one job rejects. Counts each rejection as a drop and sets the reason for
// the Error status of the job's rules. Every new reason causes a status event for every rule, so
// the reasons are fixed strings.
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
  // The pointers are borrowed. Reasons are written to `job`.
  LimitReport(const EngineOptions& options, JobIdentity* job, EngineCounters* counters);

  void CountSource();
  // Counts a source that has too many step modes or a mode with a name that is too long.
  void CountMode();
  // Counts samples rejected because the job already holds `limit_bytes` of data that it cannot
  // apply yet. `largest` (from kHeldNames) is the kind with the most data.
  void CountPending(size_t samples, size_t limit_bytes, std::string_view largest);
  // Records that too many groups of ranks have fallen behind in their steps. The dropped rows are
  // counted elsewhere.
  void NoteSeparateClocks();
  // Counts a series that a store rejected. Ignores OK.
  void CountSeries(const Status& interned);
  // Counts samples that a store rejected as late or above its limit. `waiting` names the kind of
  // data above the limit. Ignores OK.
  void CountSamples(const Status& appended, size_t samples,
                    std::string_view waiting = "samples waiting for the next tick");

 private:
  const EngineOptions& options_;
  JobIdentity* const job_;
  EngineCounters* const counters_;
};

}  // namespace pitwall::engine
