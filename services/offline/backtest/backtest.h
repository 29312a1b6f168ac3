// Evaluation of a recording by the streaming engine, for `pitwall backtest` over inputs that are
// merged by time.
//
// Each input is one source in each of its jobs, never idle, with lateness 0: it promises each
// completely read time and each step that all of its ranks (label `rank`) have completed. A job
// begins with its first sample (or at `start`, if that is later), and its watermark ends with its
// last sample. Its state is freed there, so memory use is determined by overlapping jobs.
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
  // Rules are evaluated from this time, rounded up to a second; earlier samples only fill windows.
  int64_t start = kMinPosition;
  bool end_jobs =
      false;  // whether each job ends with its last sample; otherwise open issues stay open
  engine::RecordingObserver* recordings =
      nullptr;  // receives the results of recording rules; may be null
};

// Maximum age of a sample before `start`, in nanoseconds, that can affect these rules.
int64_t HistoryOf(const engine::CompiledRules& rules);

// Appends the events in the order of the jobs' time. Reads the finished `recording` to its end.
// `counters` has the numbers of rejected samples.
Status RunBacktest(Recording* recording, engine::CompiledRulesPtr rules,
                   const BacktestOptions& options, engine::EngineCounters* counters,
                   std::vector<IssueEvent>* events);

// Sorts by (tick, job, rule, labels).
void SortEvents(std::vector<IssueEvent>* events);

}  // namespace pitwall::offline
