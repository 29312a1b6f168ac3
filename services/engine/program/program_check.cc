#include "services/engine/program/program_check.h"

#include <algorithm>

#include "rules/alert/alert_state.h"
#include "services/base/text/strings.h"
#include "services/window/store/demand_results.h"

namespace pitwall::engine {

namespace {

void Collect(const plan::DomainPlan& domain, plan::NodeId node, std::vector<bool>* seen,
             std::vector<plan::DemandRef>* out) {
  if (node == plan::kNoNode || (*seen)[node.index()]) return;
  (*seen)[node.index()] = true;
  const plan::Node& n = domain.nodes[node.index()];
  if (const auto* column = n.As<plan::DemandColumn>()) {
    const uint32_t source = column->ref.source;
    out->push_back(column->ref);
    if (source > 0) Collect(domain, domain.subqueries[source - 1].expr, seen, out);
  }
  for (const plan::NodeId input : n.inputs) Collect(domain, input, seen, out);
}

}  // namespace

std::vector<plan::DemandRef> DemandsBelow(const plan::DomainPlan& domain, plan::NodeId node) {
  std::vector<plan::DemandRef> out;
  std::vector<bool> seen(domain.nodes.size(), false);
  Collect(domain, node, &seen, &out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Status CheckWindows(const plan::DomainPlan& domain, const plan::Rule& rule) {
  for (const plan::NodeId node : plan::RootsOf(rule)) {
    for (const plan::DemandRef& ref : DemandsBelow(domain, node)) {
      const Demand& demand = plan::DemandAt(domain, ref);
      const Status status = window::ValidateDemand(demand);
      if (!status.ok())
        return Annotate(status, Cat(rule.file, ":", rule.line, ": rule ", rule.name));
    }
  }
  return OkStatus();
}

Status CheckRule(const plan::DomainPlan& domain, const plan::Rule& rule) {
  if (rule.kind == plan::RuleKind::kAlert) {
    RETURN_IF_ERROR(alert::AlertRule::Make(domain, rule, 0).status());
  }
  return CheckWindows(domain, rule);
}

std::vector<std::string> ProblemsOf(const plan::Program& program) {
  std::vector<std::string> out;
  for (const plan::DomainPlan& domain : program.domains) {
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) {
        const Status status = CheckRule(domain, rule);
        if (!status.ok()) out.emplace_back(ToStd(status.message()));
      }
    }
  }
  return out;
}

Status CheckProgram(const plan::Program& program) {
  std::string all;
  for (const std::string& problem : ProblemsOf(program))
    CatTo(all, all.empty() ? "" : "\n", problem);
  return all.empty() ? OkStatus() : InvalidArgument(all);
}

}  // namespace pitwall::engine
