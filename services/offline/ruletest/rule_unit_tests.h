// Unit tests for rules, for `pitwall rules test`. The tests use the format of Prometheus's
// unit-test files and give the same verdicts as promtool (Prometheus 3.14), but run on the
// streaming engine: samples are fed in time order, and results are read at ticks.
//
// Extensions: a test may set `clock: step` (and `mode`). `interval` is then omitted, the i-th value
// is at step i, eval_time is a step, and each group is evaluated at its own interval. If the rule
// files contain Pitwall-specific keys, which promtool cannot read, annotations are compared only if
// exp_annotations is given. Otherwise, a missing exp_annotations means that no annotations are
// expected.
#pragma once

#include <string>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Runs all files. Prints one line per failure to stdout with file and position, followed by "N
// passed, N failed". Returns 0 if all tests passed, 1 if some failed, and 2 if a file cannot be
// read. Rule files that do not compile count as one failure. Errors on stderr start with
// file:line:col. Returns InvalidArgument if `files` is empty. Rule files may include packs that
// `packs` provides.
StatusOr<int> RunRuleTests(const std::vector<std::string>& files,
                           const lang::PackSource& packs = nullptr);

// Prints each file without fixtures, repetitions, and defaults, as one YAML document. Runs no test.
// Returns 0, or 2 if a file cannot be read.
StatusOr<int> PrintExpandedTests(const std::vector<std::string>& files);

}  // namespace pitwall::offline
