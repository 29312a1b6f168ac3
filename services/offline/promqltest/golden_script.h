// A golden script in the dialect of Prometheus' promqltest: commands that load samples and ask
// expressions, with the answers that are expected. Read as Prometheus 3.14 does, and besides: words
// of commands in any case, times as plain seconds.
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
  int64_t step = 0;                // nanoseconds between points, the first at 0
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
  // Of the failure that is expected: its words (msg, expected_fail_message), or an expression of
  // RE2 that is found in them (regex, expected_fail_regexp).
  std::optional<std::string> message;
  std::optional<std::string> pattern;
  // Annotations (warn, info, no_warn, no_info and the prefixes eval_warn and eval_info) are read
  // and forgotten: the engine has none.

  bool range_vector = false;        // expect range vector
  std::optional<std::string> text;  // expect string
  std::optional<double> scalar;
  std::vector<GoldenSeries> series;  // in the order of the file; of one with equal labels the last
};

struct GoldenCommand {
  int line = 0;  // from 1
  std::variant<ClearCommand, LoadCommand, EvalCommand> what;
};

// InvalidArgument: FILE:LINE: what is wrong, of the first line that cannot be read.
StatusOr<std::vector<GoldenCommand>> ParseGoldenScript(std::string_view file,
                                                       std::string_view text);

}  // namespace pitwall::offline
