// Runner of golden scripts through the streaming engine, for `pitwall rules golden`.
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
  std::string why;  // reason of a failure, or of missing support in a form that can be grouped
  std::vector<std::string> expected;  // for a failure, in the notation of scripts
  std::vector<std::string> got;
};

// Runs one script. Each eval runs through RunQuery over all samples loaded so far, with the
// settings of promqltest: look-back 5m, subqueries without a step at 1m. A passing instant eval is
// repeated with the ticks t-1m, t, and t+1m, and the middle one is compared: state that the engine
// keeps between ticks must not change an answer. As in promqltest, this excludes ordered results,
// strings, and expressions with start(), end(), range(), or step(), which have another meaning
// there.
//
// Passed: the answer is as expected (golden_compare.h), or a failure is expected and the engine
// returns InvalidArgument with the expected text, if any. Annotations are neither produced nor
// compared: only values count, regardless of an expected `warn` or `info`.
//
// Unsupported, never failed:
// - the engine returns Unimplemented;
//  - a selector of the expression matches a series with native histograms (loaded by {{…}} or by
//    load_with_nhcb), or the result has some: the engine would see less than Prometheus does;
//  - the expected result is a range vector;
//  - the answer differs and a selector matches a series with start timestamps.
//
// Returns InvalidArgument, with FILE:LINE, if the script is malformed or loads samples out of
// order; evals before that line have been reported.
Status RunGoldenScript(std::string_view file, std::string_view text,
                       const std::function<void(const GoldenCommand&, const EvalOutcome&)>& report);

struct GoldenOptions {
  bool verbose = false;  // whether to print each unsupported eval
};

// Prints to stdout each failure with its position and the expected and actual results, and "N
// passed, N failed, N unsupported" as the last line; prints to stderr the number of unsupported
// evals by reason. Returns 0, 1 if an eval failed, or 2 if a file cannot be read (the others run).
StatusOr<int> RunGolden(const std::vector<std::string>& files, const GoldenOptions& options);

}  // namespace pitwall::offline
