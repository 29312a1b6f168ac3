// Evaluation of a recording by the streaming engine, for `pitwall backtest`. Multiple inputs are
// merged by time.
//
// In each of its jobs, an input acts as one source that has lateness 0 and is never idle. The
// source promises each time that has been read completely, and each step that all of its ranks
// (label `rank`) have completed. A job starts with its first sample (or at `start`, if that is
// later), and the job's watermark stops at the last sample. The job's state is freed at that point,
// so memory usage depends only on the number of overlapping jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/status.h"
#include "services/engine/job/job.h"
#include "services/engine/program/counters.h"
#include "services/model/issues/issue.h"
#include "services/model/position.h"
#include "services/offline/backtest/recording.h"

namespace pitwall::offline {

struct BacktestOptions {
  // Time from which the rules are evaluated, rounded up to a second. Earlier samples are only used
  // to fill the windows.
  int64_t start = kMinPosition;
  bool end_jobs = false;  // ends each job with its last sample; if false, open issues stay open
  engine::RecordingObserver* recordings =
      nullptr;  // receives the results of recording rules; may be null
};

// Returns the maximum time before `start`, in nanoseconds, from which a sample can still affect
// these rules.
int64_t HistoryOf(const engine::CompiledRules& rules);

// Evaluates the rules on `recording`, which must be finished, and reads it to the end. Appends the
// events, ordered by time within each job. `counters` receives the number of rejected samples.
Status RunBacktest(Recording* recording, engine::CompiledRulesPtr rules,
                   const BacktestOptions& options, engine::EngineCounters* counters,
                   std::vector<IssueEvent>* events);

// Sorts events by (tick, job, rule, labels).
void SortEvents(std::vector<IssueEvent>* events);

}  // namespace pitwall::offline
