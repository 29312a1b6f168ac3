// Rewriting of `@` and negative offsets in the rules of a backtest: all samples are available, so
// values that a live rule cannot know are computed in advance. Such sub-expressions become plain
// selectors of generated series, which are fed with the recorded ones:
//
// * `x offset -5m`, with or without a window: a copy of the samples of x, each 5m earlier. At a
// tick, windows and look-back of the copy see the samples that they would see of x 5m later; the
// results of timestamp() and ts_of_*_over_time, and the horizon of predict_linear, are shifted
// back.
// * `x @ T`, `rate(x[5m] @ T)`, `f(e[1h:1m] @ T)`: the value at T, computed once from each job's
// samples and present at every tick.
//
// Other uses are unchanged, and the checker rejects them as in a live rule: `@` inside a subquery
// or on predict_linear, a negative offset of a subquery itself, non-numeric arguments of a window
// function at a fixed time, and windows counted in samples or steps.
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
    int64_t ahead = 0;  // > 0: the shift to earlier times in nanoseconds
    std::string name;   // name of the copies
  };
  struct Constant {
    std::string expr;  // without `@`
    int64_t at = 0;
    int64_t lookback = 0;
    int64_t subquery_interval = 0;
    int64_t reach = 0;                // samples in (at - reach, at] determine the value
    std::vector<Selector> selectors;  // selectors of these samples
    std::string name;
  };
  std::vector<Copy> copies;
  std::vector<Constant> constants;

  bool empty() const { return copies.empty() && constants.empty(); }
};

// Rewrites the rules on the time clock. `start` and `end` are the values of @ start() and @ end(),
// if given. `default_interval`: for groups without an interval.
// Returns Unimplemented, with file:line:col, if an expression that reads another time uses a
// recorded series, has no plain name, or is next to a selector that matches metric names and would
// match the generated series.
Status RewriteOtherTimes(const std::vector<std::shared_ptr<lang::RuleFile>>& files,
                         std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t default_interval, OtherTimes* out);

}  // namespace pitwall::offline
