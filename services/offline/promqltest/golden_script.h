// Golden script in the dialect of Prometheus's promqltest: commands that load samples, and commands
// that evaluate expressions and have expected results. Parsing is equivalent to Prometheus 3.14. In
// addition, commands may be in any case, and times may be plain seconds.
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
  int64_t step = 0;  // nanoseconds between points, starting at time 0
  // Load_with_nhcb: convert classic buckets to native histograms, too.
  bool native_histograms = false;
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
  // Expected failure: a text (msg, expected_fail_message) or a regular expression (regex,
  // expected_fail_regexp) that the message must match.
  std::optional<std::string> message;
  std::optional<std::string> pattern;
  // Annotations (warn, info, no_warn, no_info, and the prefixes eval_warn and eval_info) are parsed
  // and discarded because the engine does not support them.

  bool range_vector = false;        // expect range vector
  std::optional<std::string> text;  // expect string
  std::optional<double> scalar;
  // In file order; of series with equal labels, only the last one.
  std::vector<GoldenSeries> series;
};

struct GoldenCommand {
  int line = 0;  // starting at 1
  std::variant<ClearCommand, LoadCommand, EvalCommand> what;
};

// Parses a script. Returns InvalidArgument ("FILE:LINE: cause") for the first malformed line.
StatusOr<std::vector<GoldenCommand>> ParseGoldenScript(std::string_view file,
                                                       std::string_view text);

}  // namespace pitwall::offline
