// Parser for golden scripts in the dialect of Prometheus's promqltest. A script consists of
// commands that load samples and commands that evaluate expressions and specify the expected
// results. Parsing is equivalent to Prometheus 3.14. In addition, commands are case-insensitive,
// and times may be plain seconds.
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
  int64_t step = 0;  // nanoseconds between points; the first point is at time 0
  // True for load_with_nhcb, which also converts classic buckets to native histograms.
  bool native_histograms = false;
  std::vector<GoldenSeries> series;
};

struct EvalCommand {
  std::string expr;
  bool range = false;
  int64_t start = 0;  // in nanoseconds; for an instant query, start equals end
  int64_t end = 0;
  int64_t step = 0;

  bool ordered = false;
  bool fail = false;
  // Expected failure: text that the error message must contain (msg, expected_fail_message), or a
  // regular expression that it must match (regex, expected_fail_regexp).
  std::optional<std::string> message;
  std::optional<std::string> pattern;
  // The parser discards annotations (warn, info, no_warn, no_info, and the prefixes eval_warn and
  // eval_info) because the engine does not support them.

  bool range_vector = false;        // true for `expect range vector`
  std::optional<std::string> text;  // text of `expect string`
  std::optional<double> scalar;
  // Expected series in file order. If several series have equal labels, only the last one is kept.
  std::vector<GoldenSeries> series;
};

struct GoldenCommand {
  int line = 0;  // line number, starting at 1
  std::variant<ClearCommand, LoadCommand, EvalCommand> what;
};

// Parses a script. Returns InvalidArgument ("FILE:LINE: cause") for the first malformed line.
StatusOr<std::vector<GoldenCommand>> ParseGoldenScript(std::string_view file,
                                                       std::string_view text);

}  // namespace pitwall::offline
