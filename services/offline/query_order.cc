#include "services/offline/query_order.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "services/base/text/strings.h"

namespace pitwall::offline {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Splits a string into runs of digits and runs of other characters.
std::vector<std::string_view> Chunks(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    size_t n = 1;
    while (n < text.size() && IsDigit(text[n]) == IsDigit(text[0])) ++n;
    out.push_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return out;
}

// Sorts by value. NaN comes last in both directions.
void SortByValue(bool descending, std::vector<QueryElement>* elements) {
  std::stable_sort(elements->begin(), elements->end(),
                   [descending](const QueryElement& a, const QueryElement& b) {
                     if (std::isnan(a.value) || std::isnan(b.value))
                       return !std::isnan(a.value) && std::isnan(b.value);
                     return descending ? a.value > b.value : a.value < b.value;
                   });
}

void SortByLabels(const lang::CallExpr& call, bool descending,
                  std::vector<QueryElement>* elements) {
  std::vector<std::string> names;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (const auto* text = lang::Unwrap(*call.arguments[i]).As<lang::StringExpr>())
      names.push_back(text->value);
  }
  std::stable_sort(elements->begin(), elements->end(),
                   [&](const QueryElement& a, const QueryElement& b) {
                     const QueryElement& first = descending ? b : a;
                     const QueryElement& second = descending ? a : b;
                     for (const std::string& name : names) {
                       const std::string_view x = first.labels.Get(name);
                       const std::string_view y = second.labels.Get(name);
                       if (x != y) return NaturallyBefore(x, y);
                     }
                     return first.labels < second.labels;
                   });
}

// Sorts the elements selected by topk() or a similar function. Groups keep the order of their first
// elements. Within a group, the highest-ranked element comes first.
void SortSelection(const lang::AggregateExpr& aggregate, std::vector<QueryElement>* elements) {
  const bool by = aggregate.grouping != lang::Grouping::kWithout;
  std::vector<std::string> names = aggregate.labels;
  if (!by) names.emplace_back(kMetricName);
  std::vector<Labels> groups;
  std::vector<std::vector<QueryElement>> members;
  for (QueryElement& element : *elements) {
    const Labels group = by ? element.labels.Keep(names) : element.labels.Drop(names);
    const auto at = std::find(groups.begin(), groups.end(), group);
    const auto index = static_cast<size_t>(at - groups.begin());
    if (at == groups.end()) {
      groups.push_back(group);
      members.emplace_back();
    }
    members[index].push_back(std::move(element));
  }
  elements->clear();
  for (std::vector<QueryElement>& group : members) {
    SortByValue(aggregate.op == AggregateOp::kTopk, &group);
    for (QueryElement& element : group) elements->push_back(std::move(element));
  }
}

}  // namespace

bool NaturallyBefore(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> x = Chunks(a), y = Chunks(b);
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (x[i] == y[i]) continue;
    // Numbers that do not fit into an integer are compared as strings.
    const int64_t m = IsDigit(x[i][0]) ? ParseInt(x[i]).value_or(-1) : -1;
    const int64_t n = IsDigit(y[i][0]) ? ParseInt(y[i]).value_or(-1) : -1;
    if (m < 0 || n < 0) return x[i] < y[i];
    if (m != n) return m < n;
  }
  return x.size() < y.size();
}

void OrderForDisplay(const lang::Expr& root, std::vector<QueryElement>* elements) {
  const lang::Expr& expr = lang::Unwrap(root);
  if (const auto* aggregate = expr.As<lang::AggregateExpr>()) {
    if (aggregate->op == AggregateOp::kTopk || aggregate->op == AggregateOp::kBottomk)
      SortSelection(*aggregate, elements);
    return;
  }
  const auto* call = expr.As<lang::CallExpr>();
  if (call == nullptr) return;
  if (call->function == "sort") SortByValue(false, elements);
  if (call->function == "sort_desc") SortByValue(true, elements);
  if (call->function == "sort_by_label") SortByLabels(*call, false, elements);
  if (call->function == "sort_by_label_desc") SortByLabels(*call, true, elements);
}

}  // namespace pitwall::offline
