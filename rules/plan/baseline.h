// Frozen summary of a finished job, used as a baseline for later jobs. Each of its series appears
// in later jobs as baseline_<name> with the label `run`. `pitwall baseline` writes summaries
// (services/offline/backtest/summary.h).
//
//   run: resnet-0041                       # the label `run`; unique among summaries
//   ended: 1763800000                      # Unix seconds; newer runs take precedence
//   match: {job: "resnet-*", config: 7f3a} # jobs it applies to (rules/plan/program/job_match.h)
//   series:
//   - {name: train_tensor_mean, mode: train, labels: {tensor: fc1}, points: "0:1.25 100:1.5"}
//   - {name: train_step_seconds:median, value: 0.35}
//
// `points` are step:value pairs in step order. The series has each value at the same step of the
// later job, on the step clock of `mode`. A series with `value` has no steps and has this value at
// all times, on every clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/plan/program/job_match.h"
#include "rules/plan/program/program.h"
#include "services/model/labels.h"

namespace pitwall::plan {

// Prefix of the finished job's metrics in later jobs.
inline constexpr std::string_view kBaselinePrefix = "baseline_";
inline constexpr std::string_view kRunLabel = "run";
// Maximum number of summaries per job; the most recent ones are used.
inline constexpr size_t kMaxRunsPerJob = 5;
inline constexpr size_t kMaxBaselines = 1'000;

// Parsed summary of a finished job. Immutable and thread-safe.
struct Baseline {
  struct Point {
    int64_t step = 0;
    uint32_t series = 0;  // index into Steps::series
    double value = 0;
  };
  struct Steps {
    std::string mode;
    std::vector<Labels> series;  // labels include the name and `run`
    std::vector<Point> points;   // sorted by (step, series)
  };
  std::string run;
  double ended = 0;  // Unix seconds
  JobMatch match;
  std::vector<std::pair<Labels, double>> values;
  std::vector<Steps> steps;  // one per mode

  // Returns the steps of the mode, or null.
  const Steps* StepsOf(std::string_view mode) const;
  // Returns true if the summary contains the metric, given with its prefix.
  bool Has(std::string_view metric) const;
};

using BaselinePtr = std::shared_ptr<const Baseline>;

// Parses a summary. Never returns null; errors and their positions are in `diagnostics`.
BaselinePtr ParseBaseline(std::string_view file_name, std::string_view text,
                          lang::Diagnostics* diagnostics);

// Returns the program's baselines that match the job, newest first, at most kMaxRunsPerJob.
std::vector<BaselinePtr> BaselinesFor(const Program& program, std::string_view job_id,
                                      std::string_view job_name, const Labels& job_labels);

}  // namespace pitwall::plan
