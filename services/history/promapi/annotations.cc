#include "services/history/promapi/annotations.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "rules/check/types.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::promapi {
namespace {

using lang::CallExpr;
using lang::Expr;
using lang::SelectorExpr;

constexpr std::string_view kCounterEndings[] = {"_total", "_sum", "_count", "_bucket"};

class Annotator {
 public:
  Annotator(std::string_view text, const query::StoredQuery& asked,
            std::span<const std::vector<query::StoredSeries>> series)
      : source_("query", std::string(text)), asked_(asked), series_(series) {}

  Annotations Run() {
    Walk(asked_.expr(), asked_.span().start != asked_.span().end, /*in_subquery=*/false);
    return std::move(out_);
  }

 private:
  // `range` must be true if the expression is evaluated at several ticks, for example in a
  // subquery.
  void Walk(const Expr& expr, bool range, bool in_subquery) {
    const bool subquery = expr.As<lang::SubqueryExpr>() != nullptr;
    if (const auto* call = expr.As<CallExpr>()) OfCall(expr, *call, range, in_subquery);
    if (const auto* aggregate = expr.As<lang::AggregateExpr>();
        aggregate != nullptr && aggregate->op == AggregateOp::kQuantile)
      OfQuantile(*aggregate->parameter, *aggregate->parameter);
    for (const Expr* child : lang::Children(expr))
      Walk(*child, range || subquery, in_subquery || subquery);
  }

  std::string Place(const Expr& expr) const {
    const auto at = source_.Locate(expr.span.begin);
    return Cat(" (", at.line, ":", at.column, ")");
  }

  // If several annotations have the same text, only the outermost position is reported.
  void Report(const std::string& text, const std::string& place, std::vector<std::string>* list) {
    if (reported_.insert(text).second) list->push_back(text + place);
  }

  void OfQuantile(const Expr& phi, const Expr& place) {
    const std::optional<double> value = check::ConstantValue(phi);
    if (!value.has_value() || (*value >= 0 && *value <= 1)) return;
    Report(
        Cat("PromQL warning: quantile value should be between 0 and 1, got ", FormatDouble(*value)),
        Place(place), &out_.warnings);
  }

  void OfCall(const Expr& expr, const CallExpr& call, bool range, bool in_subquery) {
    const std::string_view name = call.function;
    if (range && StartsWith(name, "sort")) {
      Report(
          "PromQL warning: sort is ineffective for range queries since results are always ordered "
          "by labels",
          Place(expr), &out_.warnings);
    }
    if ((name == "quantile_over_time" || name == "histogram_quantile") &&
        call.arguments.size() == 2 && ReadsAny(*call.arguments[1]))
      OfQuantile(*call.arguments[0], *call.arguments[0]);
    if (name == "rate" || name == "increase") OfCounter(*call.arguments[0], in_subquery);
  }

  // Returns true if the selectors in `below` have samples.
  bool ReadsAny(const Expr& below) const {
    bool found = false;
    lang::Visit(below, [&](const Expr& expr) {
      if (const auto* selector = expr.As<SelectorExpr>()) {
        EachSeries(*selector, [&](const query::StoredSeries& one) { found |= !one.times.empty(); });
      }
    });
    return found;
  }

  void OfCounter(const Expr& matrix, bool in_subquery) {
    const Expr& window = lang::Unwrap(matrix);
    const auto* selector = window.As<SelectorExpr>();
    const auto* subquery = window.As<lang::SubqueryExpr>();
    // A subquery over a selector reports the selector's metric names, but no exact position.
    if (subquery != nullptr) selector = lang::Unwrap(*subquery->expr).As<SelectorExpr>();
    if (selector == nullptr) return;
    std::set<std::string> names;
    EachSeries(*selector, [&](const query::StoredSeries& one) {
      const std::string_view name = one.labels.Name();
      const bool counter =
          std::any_of(std::begin(kCounterEndings), std::end(kCounterEndings),
                      [&](std::string_view ending) { return EndsWith(name, ending); });
      if (counter || name.empty() || names.contains(std::string(name))) return;
      const bool exact = subquery == nullptr && !in_subquery;
      if (exact ? HasResult(*selector, one) : one.times.size() > 1) names.insert(std::string(name));
    });
    for (const std::string& name : names) {
      Report(Cat("PromQL info: metric might not be a counter, name does not end in "
                 "_total/_sum/_count/_bucket: ",
                 Quote(name)),
             subquery != nullptr ? " (1:1)" : Place(matrix), &out_.infos);
    }
  }

  // Returns true if the window contains two samples at any tick.
  bool HasResult(const SelectorExpr& selector, const query::StoredSeries& one) const {
    const query::QuerySpan& span = asked_.span();
    int64_t offset = selector.modifiers.offset ? selector.modifiers.offset->nanos : 0;
    // The windows end either at the ticks minus the offset, or all at the same fixed time.
    int64_t first = span.start - offset, last = span.end - offset;
    if (const auto& at = selector.modifiers.at; at.has_value()) {
      first = at->kind == lang::AtKind::kStart ? span.start
              : at->kind == lang::AtKind::kEnd ? span.end
                                               : std::llround(at->seconds * 1e3) * 1'000'000;
      first -= offset;
      last = first;
    }
    size_t before = one.times.size();  // index of the last sample that is not a stale marker
    for (size_t i = 0; i < one.times.size(); ++i) {
      if (IsStale(one.values[i])) continue;
      if (before < i) {
        // First window end at or after the sample.
        int64_t end = first;
        if (one.times[i] > first)
          end += (one.times[i] - first + span.step - 1) / span.step * span.step;
        if (end <= last && one.times[before] > end - selector.range.nanos) return true;
      }
      before = i;
    }
    return false;
  }

  template <typename F>
  void EachSeries(const SelectorExpr& selector, F&& visit) const {
    const auto wanted = plan::SelectorOf(selector);
    if (!wanted.ok()) return;
    for (size_t n = 0; n < asked_.needs().size() && n < series_.size(); ++n) {
      if (asked_.needs()[n].selector.Key() != wanted->Key()) continue;
      for (const query::StoredSeries& one : series_[n]) visit(one);
    }
  }

  const lang::Source source_;
  const query::StoredQuery& asked_;
  const std::span<const std::vector<query::StoredSeries>> series_;
  std::set<std::string> reported_;
  Annotations out_;
};

}  // namespace

Annotations AnnotationsOf(std::string_view text, const query::StoredQuery& asked,
                          std::span<const std::vector<query::StoredSeries>> series) {
  return Annotator(text, asked, series).Run();
}

}  // namespace pitwall::promapi
