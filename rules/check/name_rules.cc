#include <algorithm>

#include "rules/check/validators.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/model/labels.h"

namespace pitwall::check {
namespace {

// Returns true for names in Pitwall's reserved namespaces, where every existing metric is in the
// catalog. train_* is not reserved, because training code logs its own metrics.
bool IsOurs(std::string_view name) {
  for (const std::string_view prefix : {"system_", "hw_", "cgroup_", "pitwall_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

}  // namespace

std::string_view MetricNameOf(const lang::SelectorExpr& selector) {
  if (!selector.name.empty()) return selector.name;
  for (const lang::LabelMatcher& matcher : selector.matchers) {
    if (matcher.label == kMetricName && matcher.op == MatchOp::kEqual) return matcher.value;
  }
  return {};
}

void CheckNames(const ExprContext& context, const lang::Expr& root) {
  lang::Visit(root, [&](const lang::Expr& expr) {
    const auto* selector = expr.As<lang::SelectorExpr>();
    if (selector == nullptr) return;
    const std::string_view name = MetricNameOf(*selector);
    if (name.empty() || context.recorded.contains(name) ||
        context.options.catalog->Find(name) != nullptr)
      return;
    std::vector<std::string_view> known(context.options.catalog->names().begin(),
                                        context.options.catalog->names().end());
    std::vector<std::string> recorded;
    for (const auto& [metric, where] : context.recorded) recorded.push_back(metric);
    std::sort(recorded.begin(), recorded.end());
    known.insert(known.end(), recorded.begin(), recorded.end());
    const std::string nearest = DidYouMean(name, known);
    // A foreign series (from another exporter) is valid but not in the catalog.
    const bool suspicious = !nearest.empty() || IsOurs(name);
    context.Add(suspicious ? lang::Severity::kWarning : lang::Severity::kInfo, expr.span,
                Cat("metric ", Quote(name), " is not in the catalog of known series", nearest));
  });
}

}  // namespace pitwall::check
