#include "services/insights/promapi/annotations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "rules/check/types.h"
#include "rules/plan/selector_of.h"
#include "services/base/strings.h"

namespace pitwall::promapi {
namespace {

using lang::CallExpr;
using lang::Expr;

constexpr std::string_view kCounterEndings[] = {"_total", "_sum", "_count", "_bucket"};

class Annotator {
 public:
  Annotator(std::string_view text, const query::StoredQuery& asked, bool range,
            std::span<const std::vector<query::StoredSeries>> series)
      : source_("query", std::string(text)), asked_(asked), range_(range), series_(series) {}

  Annotations Run() {
    lang::Visit(asked_.expr(), [&](const Expr& expr) {
      if (const auto* call = expr.As<CallExpr>()) OfCall(expr, *call);
      if (const auto* aggregate = expr.As<lang::AggregateExpr>();
          aggregate != nullptr && aggregate->op == lang::AggregateOp::kQuantile)
        OfQuantile(*aggregate->parameter, *aggregate->parameter);
    });
    return std::move(out_);
  }

 private:
  std::string Place(const Expr& expr) const {
    const auto at = source_.Locate(expr.span.begin);
    return Cat(" (", at.line, ":", at.column, ")");
  }

  void OfQuantile(const Expr& phi, const Expr& place) {
    const std::optional<double> value = check::ConstantValue(phi);
    if (!value.has_value() || (*value >= 0 && *value <= 1)) return;
    out_.warnings.push_back(Cat("PromQL warning: quantile value should be between 0 and 1, got ",
                                FormatDouble(*value), Place(place)));
  }

  void OfCall(const Expr& expr, const CallExpr& call) {
    const std::string_view name = call.function;
    if (range_ && StartsWith(name, "sort")) {
      out_.warnings.push_back(
          Cat("PromQL warning: sort is ineffective for range queries since results are always "
              "ordered by labels",
              Place(expr)));
    }
    if (name == "quantile_over_time" && call.arguments.size() == 2 && Reads(*call.arguments[1], 1))
      OfQuantile(*call.arguments[0], *call.arguments[0]);
    if (name == "rate" || name == "increase") OfCounter(*call.arguments[0]);
  }

  // Whether some series of the selector has so many samples.
  bool Reads(const Expr& matrix, size_t samples) {
    bool found = false;
    EachSeries(matrix,
               [&](const query::StoredSeries& one) { found |= one.times.size() >= samples; });
    return found;
  }

  void OfCounter(const Expr& matrix) {
    std::set<std::string> names;
    EachSeries(matrix, [&](const query::StoredSeries& one) {
      const std::string_view name = one.labels.Name();
      const bool counter =
          std::any_of(std::begin(kCounterEndings), std::end(kCounterEndings),
                      [&](std::string_view ending) { return EndsWith(name, ending); });
      if (!counter && !name.empty() && one.times.size() > 1) names.insert(std::string(name));
    });
    for (const std::string& name : names) {
      out_.infos.push_back(
          Cat("PromQL info: metric might not be a counter, name does not end in "
              "_total/_sum/_count/_bucket: ",
              Quote(name), Place(matrix)));
    }
  }

  template <typename F>
  void EachSeries(const Expr& matrix, F&& visit) {
    const auto* selector = lang::Unwrap(matrix).As<lang::SelectorExpr>();
    if (selector == nullptr) return;
    const auto wanted = plan::SelectorOf(*selector);
    if (!wanted.ok()) return;
    for (size_t n = 0; n < asked_.needs().size() && n < series_.size(); ++n) {
      if (asked_.needs()[n].selector.Key() != wanted->Key()) continue;
      for (const query::StoredSeries& one : series_[n]) visit(one);
    }
  }

  const lang::Source source_;
  const query::StoredQuery& asked_;
  const bool range_;
  const std::span<const std::vector<query::StoredSeries>> series_;
  Annotations out_;
};

}  // namespace

Annotations AnnotationsOf(std::string_view text, const query::StoredQuery& asked, bool range,
                          std::span<const std::vector<query::StoredSeries>> series) {
  return Annotator(text, asked, range, series).Run();
}

}  // namespace pitwall::promapi
