// Unit tests of rules, for `pitwall rules test`: Prometheus' unit-test files with promtool's
// verdicts (of Prometheus 3.14), run through the streaming engine: samples in time order, answers
// read at ticks.
//
// Extensions: a test may set `clock: step` (and `mode`); then `interval` is omitted, the i-th value
// is at step i, eval_time is a step, and groups are evaluated at their own interval. If the rule
// files have Pitwall's own keys, which promtool does not read, annotations are compared only if
// exp_annotations is given; otherwise a missing exp_annotations means that there are none.
#pragma once

#include <string>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Runs all files. Prints one line per failure with file and position, then "N passed, N failed", to
// stdout. Returns 0 if all passed, 1 if some failed (rule files that do not compile count as one
// failure), and 2 if a file cannot be read, which stderr names with file:line:col. InvalidArgument:
// no files. Rule files may include packs of `packs`.
StatusOr<int> RunRuleTests(const std::vector<std::string>& files,
                           const lang::PackSource& packs = nullptr);

}  // namespace pitwall::offline
