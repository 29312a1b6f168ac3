#include "services/history/api/parameters.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "rules/lang/parser.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxSelectors = 64;
// Maximum length of a value quoted in an error.
constexpr size_t kMaxShown = 80;

std::string Shown(std::string_view value) {
  return value.size() <= kMaxShown ? Quote(value) : Cat(Quote(value.substr(0, kMaxShown)), " …");
}

std::string NamesOf(std::span<const ParameterRule> rules) {
  std::string out;
  for (const ParameterRule& rule : rules) CatTo(out, out.empty() ? "" : ", ", rule.name);
  return out.empty() ? "none" : out;
}

StatusOr<Selector> ParseSelector(std::string_view text) {
  if (text.size() > lang::kMaxExpressionBytes)
    return InvalidArgument("match: selector is longer than 64 KiB; specify a shorter selector");
  lang::Diagnostics diagnostics;
  const lang::ExprPtr expr =
      lang::ParseExpr(lang::Source("match", std::string(text)), &diagnostics);
  const auto* selector = expr == nullptr ? nullptr : std::get_if<lang::SelectorExpr>(&expr->node);
  const Status malformed = InvalidArgument(
      Cat("match: must be a selector like name{label=\"value\"} (got ", Shown(text), ")"));
  // The selector must not contain a window or an offset, because neither would have an effect.
  if (selector == nullptr || selector->window != lang::WindowSyntax::kNone ||
      selector->modifiers != lang::Modifiers{})
    return malformed;
  return plan::SelectorOf(*selector);
}

}  // namespace

Parameters::Parameters(const http::HttpRequest& request, std::span<const ParameterRule> rules)
    : request_(request), rules_(rules) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    const auto rule =
        std::find_if(rules.begin(), rules.end(),
                     [&wanted = name](const ParameterRule& r) { return r.name == wanted; });
    if (rule == rules.end()) {
      Fail(InvalidArgument(Cat(Shown(name), ": unknown parameter (got ", Shown(value),
                               "); this route accepts ", NamesOf(rules))));
      continue;
    }
    if (!seen.insert(name).second && !rule->repeatable)
      Fail(InvalidArgument(Cat(name, ": must not be repeated (also got ", Shown(value), ")")));
  }
  for (const ParameterRule& rule : rules) {
    if (rule.required && request.Query(rule.name).empty())
      Fail(InvalidArgument(Cat(rule.name, ": missing; add the parameter ", rule.name)));
  }
}

void Parameters::Fail(const Status& fault) {
  if (status_.ok()) status_ = fault;
}

const ParameterRule& Parameters::RuleOf(std::string_view name) const {
  const auto rule = std::find_if(rules_.begin(), rules_.end(),
                                 [&](const ParameterRule& r) { return r.name == name; });
  PITWALL_CHECK(rule != rules_.end());
  return *rule;
}

bool Parameters::Has(std::string_view name) const { return !Text(name).empty(); }

std::string_view Parameters::Text(std::string_view name) const {
  return request_.Query(RuleOf(name).name);
}

std::vector<std::string_view> Parameters::Texts(std::string_view name) const {
  const ParameterRule& rule = RuleOf(name);
  std::vector<std::string_view> out;
  for (const auto& [key, value] : request_.query) {
    if (key == rule.name && !value.empty()) out.push_back(value);
  }
  return out;
}

size_t Parameters::Choice(std::string_view name, std::span<const std::string_view> choices) {
  const std::string_view text = Text(name);
  if (text.empty()) return 0;
  const auto at = std::find(choices.begin(), choices.end(), text);
  if (at != choices.end()) return static_cast<size_t>(at - choices.begin());
  std::string all;
  for (const std::string_view choice : choices) CatTo(all, all.empty() ? "" : ", ", choice);
  Fail(InvalidArgument(Cat(name, ": must be one of ", all, " (got ", Shown(text), ")")));
  return 0;
}

int64_t Parameters::Int(std::string_view name, int64_t fallback, int64_t least, int64_t most) {
  const std::vector<int64_t> values = Ints(name, least, most);
  return values.empty() ? fallback : values[0];
}

std::vector<int64_t> Parameters::Ints(std::string_view name, int64_t least, int64_t most) {
  std::vector<int64_t> out;
  for (const std::string_view text : Texts(name)) {
    const std::optional<int64_t> value = ParseInt(text);
    if (!value || *value < least || *value > most) {
      Fail(InvalidArgument(Cat(name, ": must be an integer between ", least, " and ", most,
                               " (got ", Shown(text), ")")));
      return {};
    }
    out.push_back(*value);
  }
  return out;
}

std::optional<int64_t> Parameters::Time(std::string_view name) {
  const std::string_view text = Text(name);
  if (text.empty()) return std::nullopt;
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  std::optional<int64_t> ns;
  if (digits) {
    ns = ParseInt(text);
  } else {
    absl::Time time;
    std::string error;
    if (absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error))
      ns = absl::ToUnixNanos(time);
  }
  if (!ns || *ns < 0 || *ns > kMaxPosition) {
    Fail(InvalidArgument(
        Cat(name, ": must be nanoseconds since 1970 or an RFC 3339 time (got ", Shown(text), ")")));
    return std::nullopt;
  }
  return ns;
}

int64_t Parameters::Moment(std::string_view name, int64_t fallback) {
  return Time(name).value_or(fallback);
}

TimeRange Parameters::Range(TimeRange whole) {
  const TimeRange out = {Time("from").value_or(whole.from_ns), Time("to").value_or(whole.to_ns)};
  if (status_.ok() && out.from_ns >= out.to_ns && (Has("from") || Has("to"))) {
    Fail(InvalidArgument(
        Cat("from: must be earlier than to (got from=", out.from_ns, ", to=", out.to_ns, ")")));
  }
  return out;
}

void Parameters::Steps(int64_t* from_step, int64_t* to_step) {
  *from_step = Int("from_step", 0, 0, kMaxStep);
  *to_step = Int("to_step", kMaxPosition, 0, kMaxStep);
  if (status_.ok() && *from_step >= *to_step) {
    Fail(InvalidArgument(Cat("from_step: must be less than to_step (got from_step=", *from_step,
                             ", to_step=", *to_step, ")")));
  }
}

std::vector<Selector> Parameters::Selectors() {
  std::vector<Selector> out;
  const std::vector<std::string_view> texts = Texts("match");
  if (texts.size() > kMaxSelectors)
    Fail(InvalidArgument(
        Cat("match: at most ", kMaxSelectors, " selectors are allowed (got ", texts.size(), ")")));
  for (const std::string_view text : texts) {
    if (!status_.ok()) return {};
    StatusOr<Selector> selector = ParseSelector(text);
    if (selector.ok()) {
      out.push_back(*std::move(selector));
    } else {
      Fail(StartsWith(ToStd(selector.status().message()), "match: ")
               ? selector.status()
               : Annotate(selector.status(), "match"));
    }
  }
  return out;
}

Page PageRequest::Of(size_t total) const {
  Page page;
  page.begin = std::min(begin, total);
  page.end = std::min(total, page.begin + limit);
  if (page.end < total) page.next = Cat(page.end);
  return page;
}

PageRequest ReadPage(Parameters* parameters, int64_t usual, int64_t most) {
  PageRequest out;
  out.limit = static_cast<size_t>(parameters->Int("limit", usual, 1, most));
  out.begin = static_cast<size_t>(parameters->Int("page", 0, 0, kMaxPosition));
  return out;
}

}  // namespace pitwall::history
