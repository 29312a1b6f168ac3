// Golden scripts through the streaming engine: `pitwall rules golden`.
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
  std::string why;                    // of a failure; of what is unsupported, in words that repeat
  std::vector<std::string> expected;  // of a failure, in the notation of scripts
  std::vector<std::string> got;
};

// Runs one script. Each eval is asked through RunQuery, over all that is loaded by then, with the
// settings of promqltest: look-back 5m, subqueries without a step at 1m. An instant eval that
// passes is asked once more with the ticks t-1m, t, t+1m, and the middle one compared: the state
// that the engine carries from tick to tick must not change an answer. Not so where promqltest does
// not either: ordered results, strings, expressions with start(), end(), range() or step(), which
// mean something else there.
//
// Passed: the answer is as expected (golden_compare.h), or a failure is expected and the engine
// refuses with InvalidArgument, in the expected words if there are any. Annotations are neither
// given nor compared: an eval is judged by its values, whatever `warn` or `info` it expects.
//
// Unsupported, never failed:
//  - the engine says Unimplemented;
//  - a selector of the expression matches a series with native histograms (loaded by {{…}} or by
//    load_with_nhcb), or the result has some: the engine would see less than Prometheus does;
//  - the expected result is a range vector;
//  - the answer differs and a selector matches a series with start timestamps.
//
// InvalidArgument, with FILE:LINE: the script cannot be read, or loads samples out of order; evals
// before that line have been reported.
Status RunGoldenScript(std::string_view file, std::string_view text,
                       const std::function<void(const GoldenCommand&, const EvalOutcome&)>& report);

struct GoldenOptions {
  bool verbose = false;  // print what is unsupported, one by one
};

// Prints to stdout each failure with its place, what is expected and what came, and as last line
// "N passed, N failed, N unsupported"; to stderr how many are unsupported for which reason. Returns
// 0, or 1 when an eval failed, or 2 when a file cannot be read (the others are run).
StatusOr<int> RunGolden(const std::vector<std::string>& files, const GoldenOptions& options);

}  // namespace pitwall::offline
