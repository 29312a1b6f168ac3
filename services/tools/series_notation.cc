#include "services/tools/series_notation.h"

#include "rules/lang/parser.h"
#include "services/base/strings.h"
#include "services/model/value.h"

namespace pitwall::tools {

namespace {
constexpr size_t kMaxValues = 1'000'000;
}

StatusOr<Labels> ParseSeries(std::string_view text) {
  lang::Diagnostics diagnostics;
  const lang::Source source("series", std::string(text));
  const lang::ExprPtr expr = lang::ParseExpr(source, &diagnostics);
  RETURN_IF_ERROR(diagnostics.ToStatus());
  const auto* selector = expr == nullptr ? nullptr : expr->As<lang::SelectorExpr>();
  if (selector == nullptr || selector->window != lang::WindowSyntax::kNone ||
      selector->modifiers.offset.has_value()) {
    return InvalidArgument(Cat(Quote(text), " is no series"));
  }
  std::vector<Label> labels;
  if (!selector->name.empty()) labels.push_back({std::string(kMetricName), selector->name});
  for (const lang::LabelMatcher& matcher : selector->matchers) {
    if (matcher.op != MatchOp::kEqual)
      return InvalidArgument(Cat(Quote(text), ": a series has only = in its labels"));
    labels.push_back({matcher.label, matcher.value});
  }
  return Labels::FromPairs(std::move(labels));
}

StatusOr<std::vector<std::optional<double>>> ParseValues(std::string_view text) {
  std::vector<std::optional<double>> values;
  for (const std::string_view word : Split(text, ' ')) {
    const std::string_view item = Trim(word);
    if (item.empty()) continue;
    const auto bad = [&](std::string_view why) {
      return InvalidArgument(Cat("values: ", Quote(item), ": ", why));
    };
    std::string_view body = item;
    int64_t repeat = -1;
    if (const size_t x = item.rfind('x'); x != std::string_view::npos) {
      const auto count = ParseInt(item.substr(x + 1));
      if (!count.has_value() || *count < 0) return bad("what follows x must be a count");
      repeat = *count;
      body = item.substr(0, x);
    }
    if (repeat > static_cast<int64_t>(kMaxValues) ||
        values.size() + static_cast<size_t>(std::max<int64_t>(repeat, 0)) > kMaxValues) {
      return bad(Cat("more than ", kMaxValues, " values"));
    }
    if (body == "_") {
      values.insert(values.end(), static_cast<size_t>(repeat < 0 ? 1 : repeat), std::nullopt);
      continue;
    }
    if (body == "stale") {
      values.push_back(StaleMarker());
      continue;
    }
    double step = 0;
    std::string_view start = body;
    if (repeat >= 0) {
      // The last sign that is not that of an exponent or of the number itself parts start and step.
      for (size_t i = body.size(); i-- > 1;) {
        if ((body[i] == '+' || body[i] == '-') && body[i - 1] != 'e' && body[i - 1] != 'E') {
          const auto parsed = ParseDouble(body.substr(i));
          if (!parsed.has_value()) return bad("the step is no number");
          step = *parsed;
          start = body.substr(0, i);
          break;
        }
      }
    }
    const auto first = ParseDouble(start);
    if (!first.has_value()) return bad("no number");
    // Added up, as Prometheus does it: the rounding of each sum stays in the next.
    double value = *first;
    for (int64_t i = 0; i <= std::max<int64_t>(repeat, 0); ++i, value += step)
      values.push_back(value);
  }
  return values;
}

}  // namespace pitwall::tools
