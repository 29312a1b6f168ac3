// Golden script in the dialect of Prometheus' promqltest: commands that load samples and evaluate
// expressions with expected answers. Parsed as in Prometheus 3.14, and additionally: commands in
// any case, and times as plain seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/base/status.h"
#include "services/offline/promqltest/golden_points.h"

namespace pitwall::offline {

struct ClearCommand {};

struct LoadCommand {
  int64_t step = 0;                // nanoseconds between points; the first is at 0
  bool native_histograms = false;  // load_with_nhcb: classic buckets also become native histograms
  std::vector<GoldenSeries> series;
};

struct EvalCommand {
  std::string expr;
  bool range = false;
  int64_t start = 0;  // nanoseconds; an instant query has start == end
  int64_t end = 0;
  int64_t step = 0;

  bool ordered = false;
  bool fail = false;
  // The expected failure: its text (msg, expected_fail_message), or a regular expression that it
  // must match (regex, expected_fail_regexp).
  std::optional<std::string> message;
  std::optional<std::string> pattern;
  // Annotations (warn, info, no_warn, no_info and the prefixes eval_warn and eval_info) are parsed
  // and discarded: the engine has none.

  bool range_vector = false;        // expect range vector
  std::optional<std::string> text;  // expect string
  std::optional<double> scalar;
  std::vector<GoldenSeries> series;  // in file order; the last one of series with equal labels
};

struct GoldenCommand {
  int line = 0;  // from 1
  std::variant<ClearCommand, LoadCommand, EvalCommand> what;
};

// InvalidArgument: FILE:LINE: cause, for the first malformed line.
StatusOr<std::vector<GoldenCommand>> ParseGoldenScript(std::string_view file,
                                                       std::string_view text);

}  // namespace pitwall::offline
