#include "services/history/views/steps/selectors.h"

#include "services/base/text/strings.h"
#include "services/model/labels.h"

namespace pitwall::history {

Selector SelectorOfMetric(std::string_view metric, const std::vector<int64_t>& ranks) {
  Selector out;
  out.matchers.push_back(*Matcher::Make(kMetricName, MatchOp::kEqual, metric));
  if (ranks.size() == 1) return WithLabel(std::move(out), "rank", Cat(ranks[0]));
  if (ranks.empty()) return out;
  std::string any;
  for (const int64_t rank : ranks) CatTo(any, any.empty() ? "" : "|", rank);
  out.matchers.push_back(*Matcher::Make("rank", MatchOp::kRegex, any));
  return out;
}

Selector WithLabel(Selector selector, std::string_view label, std::string_view value) {
  selector.matchers.push_back(*Matcher::Make(label, MatchOp::kEqual, value));
  return selector;
}

Selector SelectorOfPrefix(std::string_view prefix) {
  Selector out;
  out.matchers.push_back(*Matcher::Make(kMetricName, MatchOp::kRegex, Cat(prefix, ".*")));
  return out;
}

}  // namespace pitwall::history
