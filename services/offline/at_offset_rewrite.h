// Rewrite of `@` modifiers and negative offsets in backtest rules. Because all samples are
// available, values that a live rule cannot know are computed in advance. The rewrite replaces the
// affected sub-expressions with selectors for generated series, which are fed to the engine
// together with the recorded series:
//
// * `x offset -5m`, with or without a window: a copy of x in which each sample is 5m earlier. At
//   any tick, windows and look-back on the copy contain the samples that x has 5m after the tick.
//   The results of timestamp() and ts_of_*_over_time and the horizon of predict_linear are
//   corrected for the shift.
// * `x @ T`, `rate(x[5m] @ T)`, `f(e[1h:1m] @ T)`: the value at T, computed once from each job's
//   samples and present at every tick.
//
// All other uses remain unchanged, so the checker rejects them as in live rules: `@` inside a
// subquery or on predict_linear, a negative offset on a subquery itself, non-numeric arguments of a
// window function at a fixed time, and windows counted in samples or steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/lang/files/rule_file.h"
#include "services/base/status.h"
#include "services/model/windows/demand.h"

namespace pitwall::offline {

struct OtherTimes {
  struct Copy {
    std::string metric;
    int64_t ahead = 0;  // shift to earlier times, in nanoseconds; must be > 0
    std::string name;   // metric name of the copy
  };
  struct Constant {
    std::string expr;  // the expression without `@`
    int64_t at = 0;
    int64_t lookback = 0;
    int64_t subquery_interval = 0;
    int64_t reach = 0;                // the value depends on samples in (at - reach, at]
    std::vector<Selector> selectors;  // selectors for the samples on which the value depends
    std::string name;
  };
  std::vector<Copy> copies;
  std::vector<Constant> constants;

  bool empty() const { return copies.empty() && constants.empty(); }
};

// Rewrites the rules on the time clock. `start` and `end` are the values for @ start() and @ end(),
// if given. `default_interval` applies to groups without an interval. Returns Unimplemented with
// file:line:col if an expression that reads another time uses a series recorded by the rules or a
// selector without a plain metric name. Also returns Unimplemented if another selector matches on
// metric names and could match the generated series.
Status RewriteOtherTimes(const std::vector<std::shared_ptr<lang::RuleFile>>& files,
                         std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t default_interval, OtherTimes* out);

}  // namespace pitwall::offline
