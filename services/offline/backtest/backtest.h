// The streaming engine over a recording: what `pitwall backtest` says of inputs that are merged by
// time first.
//
// Each input is one source of each of its jobs, never idle, with lateness 0: it promises each time
// that has been read whole, and each step that all of its ranks (label `rank`) have left. A job
// begins with its first sample (or at `start`, where that is later) and its watermark ends with its
// last. Its state is freed there, so the memory holds the windows of jobs that overlap.
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
  // Rules are evaluated from the whole second of it on; samples before it only fill windows.
  int64_t start = kMinPosition;
  bool end_jobs = false;  // each job ends with its last sample; else open issues stay open
  engine::RecordingObserver* recordings = nullptr;  // told what recording rules write; or nobody
};

// How much older than `start` a sample can be and still matter to these rules, in nanoseconds.
int64_t HistoryOf(const engine::CompiledRules& rules);

// Appends the events, in the order of jobs' time. `recording` is finished and read to its end.
// `counters` says what the engine refused.
Status RunBacktest(Recording* recording, engine::CompiledRulesPtr rules,
                   const BacktestOptions& options, engine::EngineCounters* counters,
                   std::vector<IssueEvent>* events);

// By (tick, job, rule, labels).
void SortEvents(std::vector<IssueEvent>* events);

}  // namespace pitwall::offline
