// `@` and negative offsets in the rules of a backtest: all samples are there, so what a live rule
// cannot know can be had beforehand. Such parts of an expression become plain selectors of series
// that are fed beside the recorded ones:
//
// * `x offset -5m`, with a window or without: a copy of the samples of x, each 5m earlier. Windows
//   and look-back see of it at a tick what they would see of x 5m later; the results of
//   timestamp() and ts_of_*_over_time, and the horizon of predict_linear, are moved back.
// * `x @ T`, `rate(x[5m] @ T)`, `f(e[1h:1m] @ T)`: what it is at T, asked once of each job's
//   samples, at every tick.
//
// What cannot be said so stays as it is written, and the checker refuses it as in a live rule: `@`
// inside of a subquery or on predict_linear, a negative offset of a subquery itself, arguments
// beside a window at a fixed time that are no numbers, windows counted in samples or steps.
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
    int64_t ahead = 0;  // > 0: how much earlier, in nanoseconds
    std::string name;   // of the copies
  };
  struct Constant {
    std::string expr;  // without `@`
    int64_t at = 0;
    int64_t lookback = 0;
    int64_t subquery_interval = 0;
    int64_t reach = 0;                // samples in (at - reach, at] decide it
    std::vector<Selector> selectors;  // of them
    std::string name;
  };
  std::vector<Copy> copies;
  std::vector<Constant> constants;

  bool empty() const { return copies.empty() && constants.empty(); }
};

// Rewrites the rules on the time clock. `start` and `end` are what @ start() and @ end() are, where
// given. `default_interval`: of groups without one.
// Unimplemented, with file:line:col: what reads another time is a recorded series, has no plain
// name, or is beside something that looks at the names of metrics and would see ours.
Status RewriteOtherTimes(const std::vector<std::shared_ptr<lang::RuleFile>>& files,
                         std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t default_interval, OtherTimes* out);

}  // namespace pitwall::offline
