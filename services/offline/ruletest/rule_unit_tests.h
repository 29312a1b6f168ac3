// `pitwall rules test`: Prometheus' unit-test files with promtool's verdicts (of Prometheus 3.14),
// run through the streaming engine: samples in time order, answers read at ticks.
//
// Ours on top: a test may say `clock: step` (and `mode`); then `interval` is left out, the i-th
// value is at step i, eval_time is a step, and groups are evaluated at their own interval.
// Where the rule files have keys of ours, which promtool does not read, annotations are compared
// only where exp_annotations is given; elsewhere its absence means that there are none.
#pragma once

#include <string>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Runs the files, all of them; a line per failure with file and place, then "N passed, N failed" on
// stdout. 0: all passed, 1: some failed (rule files that do not compile count as one), 2: some file
// cannot be read, which stderr names with file:line:col. InvalidArgument: no files.
// Rule files may include packs of `packs`.
StatusOr<int> RunRuleTests(const std::vector<std::string>& files,
                           const lang::PackSource& packs = nullptr);

}  // namespace pitwall::offline
