#include "rules/plan/program_text.h"

#include <map>
#include <set>

#include "rules/plan/function_tables.h"
#include "services/base/duration.h"
#include "services/base/strings.h"
#include "services/model/pane_grid.h"

namespace pitwall::plan {
namespace {

std::string_view FamilyOf(WindowFunction function) {
  switch (function) {
    case WindowFunction::kLast:
    case WindowFunction::kTimestamp:
      return "newest sample";
    case WindowFunction::kSum:
    case WindowFunction::kAvg:
    case WindowFunction::kCount:
    case WindowFunction::kPresent:
      return "sums";
    case WindowFunction::kStddev:
    case WindowFunction::kStdvar:
      return "moments";
    case WindowFunction::kMin:
    case WindowFunction::kMax:
      return "extremes";
    case WindowFunction::kLastOverTime:
    case WindowFunction::kFirstOverTime:
      return "ends";
    case WindowFunction::kRate:
    case WindowFunction::kIncrease:
    case WindowFunction::kDelta:
    case WindowFunction::kIrate:
    case WindowFunction::kIdelta:
    case WindowFunction::kResets:
    case WindowFunction::kChanges:
      return "counter";
    case WindowFunction::kTsOfFirst:
    case WindowFunction::kTsOfLast:
      return "counter";
    case WindowFunction::kTsOfMin:
    case WindowFunction::kTsOfMax:
      return "extremes with positions";
    case WindowFunction::kDeriv:
    case WindowFunction::kIntercept:
      return "regression";
    case WindowFunction::kQuantile:
    case WindowFunction::kMad:
      return "ordered";
    case WindowFunction::kSmoothing:
    case WindowFunction::kOutlierPeriod:
      return "samples";
    case WindowFunction::kShare:
      return "states";
  }
  return "";
}

std::string Length(const ClockSpec& clock, int64_t positions) {
  if (clock.step)
    return Cat(FormatDouble(static_cast<double>(positions) / static_cast<double>(kStepUnit)),
               " steps");
  return IsWholeMillis(positions) ? FormatDuration(positions)
                                  : Cat(FormatDouble(static_cast<double>(positions) / 1e9), "s");
}

// As it would be written: name{matchers}.
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

std::string DemandText(const Space& space, const DemandRef& ref) {
  const ClockSpec& clock = space.demands.clock;
  const DemandSet& set = DemandsOf(space, ref.source);
  const Demand& demand = set.demands[ref.demand];
  std::string out = Cat(WindowFunctionName(demand.function), " of ");
  if (ref.source == 0) {
    out += SelectorText(set.selectors[demand.selector]);
  } else {
    const Subquery& subquery = space.subqueries[ref.source - 1];
    CatTo(out, space.nodes[subquery.expr.index()].text, " every ", Length(clock, subquery.step));
  }
  switch (demand.kind) {
    case WindowKind::kInstant:
      CatTo(out, ", look-back ", Length(clock, demand.lookback));
      break;
    case WindowKind::kTime:
      CatTo(out, " over ", Length(clock, demand.range));
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
  if (demand.offset > 0) CatTo(out, ", offset ", Length(clock, demand.offset));
  const DemandCost cost = CostOf(demand);
  CatTo(out, ": ", cost.family, cost.rescans ? ", rescan" : ", incremental");
  if (cost.panes > 0) {
    CatTo(out, ", ", cost.panes, cost.panes == 1 ? " pane" : " panes",
          cost.paired ? ", two each " : " of ", Length(clock, cost.pane), cost.paired ? "," : "",
          " a series");
    if (!cost.keeps_samples) {
      CatTo(out, ", up to ", BytesText(cost.bytes.one_sample), " (with several samples a pane ",
            BytesText(cost.bytes.several_samples), ")");
    }
  }
  if (cost.keeps_samples) out += ", keeps every sample";
  if (cost.keeps_samples && cost.panes > 0)
    CatTo(out, ": ", BytesText(cost.bytes.one_sample), " with one a pane");
  if (demand.function == WindowFunction::kShare) out += ", keeps every change";
  return out;
}

void CollectDemands(const Space& space, NodeId id, std::set<DemandRef>* demands,
                    std::vector<bool>* seen) {
  if (id == kNoNode || (*seen)[id.index()]) return;
  (*seen)[id.index()] = true;
  const Node& node = space.nodes[id.index()];
  if (node.kind == NodeKind::kDemand) {
    demands->insert({node.source, node.demand});
    if (node.source > 0)
      CollectDemands(space, space.subqueries[node.source - 1].expr, demands, seen);
  }
  for (const NodeId input : node.inputs) CollectDemands(space, input, demands, seen);
}

std::set<DemandRef> DemandsOf(const Space& space, const Rule& rule) {
  std::set<DemandRef> demands;
  std::vector<bool> seen(space.nodes.size());
  CollectDemands(space, rule.expr, &demands, &seen);
  CollectDemands(space, rule.clear, &demands, &seen);
  for (const Need& need : rule.needs) demands.insert({0, need.demand});
  return demands;
}

void ExplainRule(const Space& space, const Rule& rule, const std::map<DemandRef, int>& users,
                 std::string* out) {
  const ClockSpec& clock = space.demands.clock;
  const auto node = [&](NodeId id) { return space.nodes[id.index()].text; };
  CatTo(*out, "    ", rule.kind == RuleKind::kAlert ? "alert " : "record ", rule.name, " (",
        rule.file, ":", rule.line, ")\n");
  CatTo(*out, "      expr: ", node(rule.expr), "\n");
  if (rule.clear != kNoNode) CatTo(*out, "      clear: ", node(rule.clear), "\n");
  if (rule.hold > 0) CatTo(*out, "      for: ", Length(clock, rule.hold), "\n");
  if (rule.keep_firing > 0)
    CatTo(*out, "      keep firing for: ", Length(clock, rule.keep_firing), "\n");
  if (rule.kind == RuleKind::kAlert) {
    CatTo(*out, "      scope: ", rule.scope == AlertScope::kAttempt ? "attempt" : "job", "\n");
    if (rule.subject != kNoNode) CatTo(*out, "      watches: ", node(rule.subject), "\n");
    if (rule.threshold != kNoNode) CatTo(*out, "      threshold: ", node(rule.threshold), "\n");
    std::vector<std::string> needs;
    for (const Need& need : rule.needs) needs.push_back(need.metric);
    CatTo(*out, "      needs: ", needs.empty() ? "nothing" : Join(needs, ", "), "\n");
  }
  for (const uint32_t index : rule.parameters) {
    CatTo(*out, "      parameter ", space.parameters[index].name, " = ",
          FormatDouble(space.parameters[index].value), "\n");
  }
  for (const DemandRef& ref : DemandsOf(space, rule)) {
    // 3, or of the first subquery s1.3
    const std::string source = ref.source == 0 ? "" : Cat("s", ref.source, ".");
    CatTo(*out, "      window ", source, ref.demand, ": ", DemandText(space, ref));
    const int count = users.at(ref);
    if (count > 1) CatTo(*out, ", shared by ", count, " rules");
    *out += "\n";
  }
}

}  // namespace

DemandCost CostOf(const Demand& demand) {
  DemandCost cost;
  cost.family = FamilyOf(demand.function);
  if (demand.kind == WindowKind::kFirst) {
    // Full and frozen, it is read once; but what a line says of the tick is another thing each
    // time.
    cost.rescans = demand.function == WindowFunction::kIntercept;
    cost.keeps_samples = true;
    return cost;
  }
  cost.rescans = demand.function == WindowFunction::kSmoothing ||
                 demand.function == WindowFunction::kOutlierPeriod ||
                 demand.function == WindowFunction::kMad || demand.kind == WindowKind::kSamples;
  cost.keeps_samples = KeepsSamples(demand);
  if (demand.function == WindowFunction::kShare) return cost;  // no panes
  if (demand.interval > 0 && (demand.kind == WindowKind::kTime ||
                              (demand.kind == WindowKind::kInstant && demand.offset > 0))) {
    const WindowShape shape = ShapeOf(demand, 0);
    cost.pane = shape.grid.length;
    cost.panes = shape.panes + shape.delay;
    cost.paired = shape.grid.cut != 0;
    cost.bytes = BytesOf(demand, cost.panes);
  }
  return cost;
}

std::string Explain(const Program& program) {
  std::string out = Cat("rule set ", program.hash, "\n");
  for (const Space& space : program.spaces) {
    size_t rules = 0;
    size_t uses = 0;
    std::map<DemandRef, int> users;
    size_t windows = space.demands.demands.size();
    for (const Subquery& subquery : space.subqueries) windows += subquery.demands.demands.size();
    for (const Group& group : space.groups) {
      rules += group.rules.size();
      for (const Rule& rule : group.rules) {
        for (const DemandRef& ref : DemandsOf(space, rule)) {
          ++users[ref];
          ++uses;
        }
      }
    }
    CatTo(out, "clock ", space.demands.clock.ToString(), ": ", space.groups.size(), " groups, ",
          rules, " rules, ", space.nodes.size(), " nodes, ", space.demands.selectors.size(),
          " selectors, ", windows, " windows for ", uses, " uses\n");
    for (const Group& group : space.groups) {
      CatTo(out, "  group ", group.name, " every ", Length(space.demands.clock, group.interval),
            group.align_job ? " from the job's origin" : "", ", look-back ",
            Length(space.demands.clock, group.lookback));
      if (group.limit > 0) CatTo(out, ", limit ", group.limit);
      out += "\n";
      for (const Rule& rule : group.rules) ExplainRule(space, rule, users, &out);
    }
  }
  return out;
}

}  // namespace pitwall::plan
