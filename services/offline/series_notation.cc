#include "services/offline/series_notation.h"

#include "rules/lang/parser.h"
#include "services/base/text/strings.h"
#include "services/offline/value_notation.h"

namespace pitwall::offline {

StatusOr<Labels> ParseSeries(std::string_view text) {
  lang::Diagnostics diagnostics;
  const lang::Source source("series", std::string(text));
  const lang::ExprPtr expr = lang::ParseExpr(source, &diagnostics);
  RETURN_IF_ERROR(diagnostics.ToStatus());
  const auto* selector = expr == nullptr ? nullptr : expr->As<lang::SelectorExpr>();
  if (selector == nullptr || selector->window != lang::WindowSyntax::kNone ||
      selector->modifiers.offset.has_value()) {
    return InvalidArgument(Cat(Quote(text), " is not a valid series"));
  }
  std::vector<Label> labels;
  if (!selector->name.empty()) labels.push_back({std::string(kMetricName), selector->name});
  for (const lang::LabelMatcher& matcher : selector->matchers) {
    if (matcher.op != MatchOp::kEqual)
      return InvalidArgument(Cat(Quote(text), ": series labels must use ="));
    labels.push_back({matcher.label, matcher.value});
  }
  return Labels::FromPairs(std::move(labels));
}

StatusOr<std::vector<std::optional<double>>> ParseValues(std::string_view text) {
  std::vector<std::optional<double>> values;
  for (const std::string_view word : Split(text, ' ')) {
    const std::string_view item = Trim(word);
    if (item.empty()) continue;
    RETURN_IF_ERROR(Annotate(AppendValues(item, &values), Cat("values: ", Quote(item))));
    if (values.size() > kMaxValues)
      return InvalidArgument(
          Cat("values: ", Quote(item), ": too many values (limit ", kMaxValues, ")"));
  }
  return values;
}

}  // namespace pitwall::offline
