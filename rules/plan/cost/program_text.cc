#include "rules/plan/cost/program_text.h"

#include <cmath>
#include <map>
#include <utility>

#include "rules/plan/program/parameter_owner.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/windows/function_table.h"

namespace pitwall::plan {
namespace {

std::string Length(const ClockSpec& clock, Duration length) {
  const auto nanos = static_cast<double>(length.ns());
  if (clock.step) return Cat(FormatDouble(nanos / static_cast<double>(kStepLength.ns())), " steps");
  return IsWholeMillis(length.ns()) ? FormatDuration(length.ns())
                                    : Cat(FormatDouble(nanos / 1e9), "s");
}

// Renders a selector as PromQL: name{matchers}.
std::string SelectorText(const Selector& selector) {
  std::string out(selector.MetricName());
  std::vector<std::string> matchers;
  for (const Matcher& matcher : selector.matchers) {
    if (matcher.label() == kMetricName && matcher.op() == MatchOp::kEqual && matcher.value() == out)
      continue;
    matchers.push_back(matcher.ToString());
  }
  if (!matchers.empty() || out.empty()) CatTo(out, "{", Join(matchers, ","), "}");
  return out;
}

}  // namespace

std::string WindowText(const DomainPlan& domain, const WindowCost& window) {
  const ClockSpec& clock = domain.demands.clock;
  const DemandSet& set = DemandsOf(domain, window.ref.source);
  const Demand& demand = DemandAt(domain, window.ref);
  std::string out = Cat(RowOf(demand.function).name, " of ",
                        window.ref.source == 0 ? SelectorText(set.selectors[demand.selector])
                                               : Cat("subquery ", window.ref.source - 1));
  switch (demand.kind) {
    case WindowKind::kInstant:
      CatTo(out, ", look-back ", Length(clock, Duration::Nanos(demand.lookback)));
      break;
    case WindowKind::kTime:
      CatTo(out, " over ", Length(clock, Duration::Nanos(demand.range)));
      break;
    case WindowKind::kSamples:
      CatTo(out, " over ", demand.range, " samples");
      break;
    case WindowKind::kAttempt:
      out += " over the attempt";
      break;
    case WindowKind::kFirst:
      CatTo(out, " over the first ", demand.range, " samples of the attempt");
      if (demand.skip > 0) CatTo(out, " after ", demand.skip, " others");
      break;
  }
  if (!demand.arguments.empty()) CatTo(out, ", with ", demand.arguments);
  if (demand.offset > 0) CatTo(out, ", offset ", Length(clock, Duration::Nanos(demand.offset)));
  const DemandCost& cost = window.shape;
  CatTo(out, ": ", cost.family, cost.rescans ? ", rescan" : ", incremental");
  if (cost.panes > 0) {
    CatTo(out, ", ", cost.panes, cost.panes == 1 ? " pane" : " panes",
          cost.paired ? ", two each " : " of ", Length(clock, cost.pane), cost.paired ? "," : "",
          " a series");
  }
  if (cost.keeps_samples) out += ", keeps every sample";
  if (demand.function == WindowFunction::kShare) out += ", keeps every change";
  return out;
}

namespace {

using WindowUsers =
    std::map<std::pair<uint32_t, DemandRef>, int>;  // number of rules by domain and window

// Rounds to three digits, because estimates are not more precise.
double Rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

void ExplainRule(const DomainPlan& domain, const RuleCost& cost, const WindowUsers& users,
                 std::string* out) {
  const Rule& rule = *cost.rule;
  const ClockSpec& clock = domain.demands.clock;
  const auto node = [&](NodeId id) { return ShownText(domain, domain.nodes[id.index()]); };
  CatTo(*out, "    ", rule.kind == RuleKind::kAlert ? "alert " : "record ", rule.name, " (",
        rule.file, ":", rule.line, ")\n");
  CatTo(*out, "      expr: ", node(rule.expr), "\n");
  if (rule.clear != kNoNode) CatTo(*out, "      clear: ", node(rule.clear), "\n");
  if (rule.hold > Duration::Zero()) CatTo(*out, "      for: ", Length(clock, rule.hold), "\n");
  if (rule.keep_firing > Duration::Zero())
    CatTo(*out, "      keep firing for: ", Length(clock, rule.keep_firing), "\n");
  if (rule.unsteady > Duration::Zero())
    CatTo(*out, "      unsteady: ", FormatDuration(rule.unsteady.ns()), "\n");
  if (rule.kind == RuleKind::kAlert) {
    if (!rule.fold.empty()) CatTo(*out, "      fold: ", Join(rule.fold, ", "), "\n");
    CatTo(*out, "      scope: ", rule.scope == AlertScope::kAttempt ? "attempt" : "job", "\n");
    if (rule.comparison.subject != kNoNode)
      CatTo(*out, "      watches: ", node(rule.comparison.subject), "\n");
    if (rule.comparison.threshold != kNoNode)
      CatTo(*out, "      threshold: ", node(rule.comparison.threshold), "\n");
    std::vector<std::string> needs;
    for (const Need& need : rule.needs) needs.push_back(need.metric);
    CatTo(*out, "      needs: ", needs.empty() ? "nothing" : Join(needs, ", "), "\n");
  }
  for (const std::vector<Template>* texts : {&rule.labels, &rule.annotations}) {
    for (const Template& text : *texts) {
      for (const NodeId query : text.queries)
        CatTo(*out, "      query of ", text.name, ": ", node(query), "\n");
    }
  }
  for (const uint32_t index : rule.parameters) {
    CatTo(*out, "      parameter ", domain.parameters[index].name, " = ",
          ShownValue(domain.parameters[index]), "\n");
  }
  CatTo(*out, "      cost: ", CostClassName(cost.cost_class()), ", ", FormatBytes(cost.state_bytes),
        " of state",
        cost.label_bytes > 0 ? Cat(" (", FormatBytes(cost.label_bytes), " of labels)") : "",
        " and ", FormatNanos(cost.work_ns), " an evaluation for each series\n");
  for (const WindowCost& window : cost.windows) {
    const int shared = users.at({cost.domain, window.ref});
    CatTo(*out, "      window ", window.ref.source == 0 ? "" : Cat(window.ref.source - 1, "/"),
          window.ref.demand, ": ", WindowText(domain, window), "; ",
          FormatBytes(window.state_bytes), ", ",
          FormatNanos(window.ns_per_second * static_cast<double>(cost.group->interval.ns()) / 1e9));
    if (shared > 1) CatTo(*out, ", shared by ", shared, " rules");
    *out += "\n";
  }
  for (const SubqueryCost& subquery : cost.subqueries) {
    const Subquery& planned = domain.subqueries[subquery.index];
    CatTo(*out, "      subquery ", subquery.index, ": ", node(planned.expr), " every ",
          Length(clock, planned.step), ": ", FormatDouble(subquery.evaluations),
          " evaluations in its window, ", FormatDouble(Rounded(subquery.evaluations_per_tick)),
          " between two of the rule\n");
  }
}

void ExplainTotal(const ProgramCost& cost, const TotalCost& total, std::string* out) {
  CatTo(*out, total.file.empty() ? "in all" : Cat("file ", total.file), ": ", total.rules,
        total.rules == 1 ? " rule, " : " rules, ", total.windows, " windows; with ",
        cost.options.series, " series a selector ", FormatBytes(total.state_bytes), " of state");
  if (total.cores > 0) CatTo(*out, ", ", FormatDouble(Rounded(total.cores * 100)), " % of a core");
  if (total.ns_per_step > 0) CatTo(*out, ", ", FormatNanos(total.ns_per_step), " a step");
  *out += "\n";
}

}  // namespace

std::string Explain(const Program& program, const CostOptions& options) {
  const ProgramCost cost = EstimateCost(program, options);
  WindowUsers users;
  for (const RuleCost& rule : cost.rules) {
    for (const WindowCost& window : rule.windows) ++users[{rule.domain, window.ref}];
  }
  std::string out = Cat("rule set ", program.hash, "\n");
  size_t next = 0;
  for (uint32_t s = 0; s < program.domains.size(); ++s) {
    const DomainPlan& domain = program.domains[s];
    size_t rules = 0;
    for (const Group& group : domain.groups) rules += group.rules.size();
    size_t windows = 0;
    int uses = 0;
    for (const auto& [window, count] : users) {
      if (window.first != s) continue;
      ++windows;
      uses += count;
    }
    CatTo(out, "clock ", domain.demands.clock.ToString(), ": ", domain.groups.size(), " groups, ",
          rules, " rules, ", domain.nodes.size(), " nodes, ", domain.demands.selectors.size(),
          " selectors, ", windows, " windows for ", uses, " uses\n");
    for (const Group& group : domain.groups) {
      CatTo(out, "  group ", group.name, " every ", Length(domain.demands.clock, group.interval),
            group.align_job ? " from the job's origin" : "", ", look-back ",
            Length(domain.demands.clock, group.lookback));
      if (group.limit > 0) CatTo(out, ", limit ", group.limit);
      out += "\n";
      for (size_t r = 0; r < group.rules.size(); ++r)
        ExplainRule(domain, cost.rules[next++], users, &out);
    }
  }
  for (const TotalCost& total : cost.files) ExplainTotal(cost, total, &out);
  if (cost.files.size() > 1) ExplainTotal(cost, cost.total, &out);
  return out;
}

}  // namespace pitwall::plan
