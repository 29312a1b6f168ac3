// Runner that evaluates golden scripts with the streaming engine, for `pitwall rules golden`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/offline/promqltest/golden_script.h"

namespace pitwall::offline {

enum class Verdict { kPassed, kFailed, kUnsupported };

struct EvalOutcome {
  Verdict verdict = Verdict::kPassed;
  std::string why;  // reason for a failure or for missing support; suitable for grouping
  std::vector<std::string> expected;  // only for failures; in the notation of golden scripts
  std::vector<std::string> got;
};

// Runs one script. Each eval runs through RunQuery over all samples loaded so far, with
// promqltest's settings: look-back 5m, and a default step of 1m for subqueries. If an instant eval
// passes, it is repeated with the ticks t-1m, t, and t+1m, and the middle result is compared,
// because state that the engine keeps between ticks must not change a result. As in promqltest, the
// repetition is skipped for ordered results, strings, and expressions with start(), end(), range(),
// or step(), which have a different meaning in a range query.
//
// An eval passes if the result matches the expected result (golden_compare.h). If a failure is
// expected, the eval passes if the engine returns InvalidArgument with the expected text, if any.
// The engine does not produce annotations, so an expected `warn` or `info` is ignored and only the
// values are compared.
//
// An eval counts as unsupported, and never as failed, in these cases:
//  - The engine returns Unimplemented.
//  - A selector in the expression matches a series with native histograms (loaded by {{…}} or
//    load_with_nhcb), or the result contains native histograms. The engine would process fewer
//    samples than Prometheus.
//  - The expected result is a range vector.
//  - The result differs, and a selector matches a series with start timestamps.
//
// Returns InvalidArgument, with FILE:LINE, if the script is malformed or loads samples out of
// order. The evals before that line have already been reported.
Status RunGoldenScript(std::string_view file, std::string_view text,
                       const std::function<void(const GoldenCommand&, const EvalOutcome&)>& report);

struct GoldenOptions {
  bool verbose = false;  // if true, print each unsupported eval
};

// Runs the scripts. Prints each failure to stdout with its position and the expected and actual
// results, followed by a final line "N passed, N failed, N unsupported". Prints the number of
// unsupported evals by reason to stderr. Returns 0 if no eval failed, 1 if an eval failed, and 2 if
// a file could not be read. An unreadable file does not prevent the other files from running.
StatusOr<int> RunGolden(const std::vector<std::string>& files, const GoldenOptions& options);

}  // namespace pitwall::offline
