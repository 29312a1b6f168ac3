#include "rules/plan/cost/rule_limits.h"

#include <algorithm>
#include <map>
#include <vector>

#include "rules/plan/cost/program_text.h"
#include "rules/plan/cost/rule_cost.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

struct NamedLimit {
  std::string_view name;
  int64_t RuleLimits::*value;
};
constexpr NamedLimit kLimits[] = {
    {"state_bytes_per_series", &RuleLimits::state_bytes_per_series},
    {"label_bytes_per_series", &RuleLimits::label_bytes_per_series},
    {"work_ns_per_series", &RuleLimits::work_ns_per_series},
    {"subquery_depth", &RuleLimits::subquery_depth},
};

// Returns a clause that names the most expensive window, where an optimization helps most. Returns
// "" if the rule has no windows.
template <typename F>
std::string MostExpensiveWindow(const DomainPlan& domain, const RuleCost& cost, F&& of) {
  const auto most_expensive =
      std::max_element(cost.windows.begin(), cost.windows.end(),
                       [&](const WindowCost& a, const WindowCost& b) { return of(a) < of(b); });
  if (most_expensive == cost.windows.end()) return {};
  return Cat("; the most expensive window is ", WindowText(domain, *most_expensive));
}

void CheckRule(const DomainPlan& domain, const RuleCost& cost, const check::CheckedRule& checked,
               const RuleLimits& limits, lang::Diagnostics* diagnostics) {
  const lang::ExprText& expr = checked.text->expr;
  const auto add = [&](std::string_view name, std::string_view estimate, std::string_view limit,
                       std::string_view why, std::string_view cure) {
    diagnostics->Error(expr.source, expr.expr->span,
                       Cat("the rule ", estimate, ", the limit ", name, " is ", limit, why, ": ",
                           cure, ", or raise rules.limits.", name));
  };
  if (cost.state_bytes > static_cast<double>(limits.state_bytes_per_series)) {
    add("state_bytes_per_series",
        Cat("keeps about ", FormatBytes(cost.state_bytes), " for each series"),
        FormatBytes(static_cast<double>(limits.state_bytes_per_series)),
        MostExpensiveWindow(domain, cost, [](const WindowCost& w) { return w.state_bytes; }),
        "use a shorter window, a longer interval, or a recording rule over part of it");
  }
  if (cost.label_bytes > static_cast<double>(limits.label_bytes_per_series)) {
    add("label_bytes_per_series",
        Cat("computes labels of about ", FormatBytes(cost.label_bytes), " for each series"),
        FormatBytes(static_cast<double>(limits.label_bytes_per_series)), "",
        "use fewer nested label_replace and label_join, or replacements that repeat fewer groups");
  }
  if (cost.work_ns > static_cast<double>(limits.work_ns_per_series)) {
    double most = 0;
    for (const WindowCost& window : cost.windows) most = std::max(most, window.ns_per_second);
    const SubqueryCost* subquery = nullptr;
    for (const SubqueryCost& s : cost.subqueries) {
      if (s.ns_per_second > most &&
          (subquery == nullptr || s.ns_per_second > subquery->ns_per_second)) {
        subquery = &s;
      }
    }
    add("work_ns_per_series",
        Cat("needs about ", FormatNanos(cost.work_ns), " for each series and evaluation"),
        FormatNanos(static_cast<double>(limits.work_ns_per_series)),
        subquery == nullptr
            ? MostExpensiveWindow(domain, cost, [](const WindowCost& w) { return w.ns_per_second; })
            : Cat("; a subquery has ", FormatDouble(subquery->evaluations_per_tick),
                  " evaluations between two of the rule"),
        cost.subqueries.empty() ? "use a shorter window, or a function that need not read all of it"
                                : "use a longer step of the subquery, or a recording rule");
  }
  if (cost.subquery_depth > limits.subquery_depth) {
    add("subquery_depth", Cat("nests subqueries ", cost.subquery_depth, " deep"),
        Cat(limits.subquery_depth), "", "use a recording rule for the inner ones");
  }
}

}  // namespace

Status SetLimit(std::string_view text, RuleLimits* limits) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::vector<std::string_view> names;
  for (const NamedLimit& limit : kLimits) {
    names.push_back(limit.name);
    if (limit.name != name) continue;
    const auto value =
        equals == std::string_view::npos ? std::nullopt : ParseInt(text.substr(equals + 1));
    if (!value || *value <= 0) {
      return InvalidArgument(Cat("limit ", Quote(text), ": must be ", name,
                                 "=N, where N is an integer greater than 0"));
    }
    limits->*limit.value = *value;
    return OkStatus();
  }
  return InvalidArgument(Cat("unknown limit ", Quote(name), DidYouMean(name, names)));
}

void CheckLimits(const check::CheckedRuleSet& rule_set, const Program& program,
                 const RuleLimits& limits, lang::Diagnostics* diagnostics) {
  const ProgramCost cost = EstimateCost(program);
  // Rules on one clock are in rule-set order (planner.cc).
  std::map<ClockSpec, std::vector<const check::CheckedRule*>> checked;
  for (const check::CheckedGroup& group : rule_set.groups) {
    for (const check::CheckedRule& rule : group.rules) checked[group.clock].push_back(&rule);
  }
  size_t next = 0;
  for (const DomainPlan& domain : program.domains) {
    for (const check::CheckedRule* rule : checked[domain.demands.clock])
      CheckRule(domain, cost.rules[next++], *rule, limits, diagnostics);
  }
}

}  // namespace pitwall::plan
