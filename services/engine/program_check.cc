#include "services/engine/program_check.h"

#include <algorithm>

#include "rules/alert/alert_state.h"
#include "services/base/strings.h"
#include "services/window/series_store.h"

namespace pitwall::engine {

namespace {

void Collect(const plan::Space& space, plan::NodeId node, std::vector<bool>* seen,
             std::vector<plan::DemandRef>* out) {
  if (node == plan::kNoNode || (*seen)[node.index()]) return;
  (*seen)[node.index()] = true;
  const plan::Node& n = space.nodes[node.index()];
  if (n.kind == plan::NodeKind::kDemand) {
    out->push_back({n.source, n.demand});
    if (n.source > 0) Collect(space, space.subqueries[n.source - 1].expr, seen, out);
  }
  for (const plan::NodeId input : n.inputs) Collect(space, input, seen, out);
}

}  // namespace

std::vector<plan::DemandRef> DemandsBelow(const plan::Space& space, plan::NodeId node) {
  std::vector<plan::DemandRef> out;
  std::vector<bool> seen(space.nodes.size(), false);
  Collect(space, node, &seen, &out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Status CheckWindows(const plan::Space& space, const plan::Rule& rule) {
  for (const plan::NodeId node : plan::RootsOf(rule)) {
    for (const plan::DemandRef& ref : DemandsBelow(space, node)) {
      const Demand& demand = plan::DemandsOf(space, ref.source).demands[ref.demand];
      const Status status = window::SeriesStore::Validate(demand);
      if (!status.ok())
        return Annotate(status, Cat(rule.file, ":", rule.line, ": rule ", rule.name));
    }
  }
  return OkStatus();
}

Status CheckRule(const plan::Space& space, const plan::Rule& rule) {
  if (rule.kind == plan::RuleKind::kAlert) {
    RETURN_IF_ERROR(alert::AlertRule::Make(space, rule, 0).status());
  }
  return CheckWindows(space, rule);
}

std::vector<std::string> ProblemsOf(const plan::Program& program) {
  std::vector<std::string> out;
  for (const plan::Space& space : program.spaces) {
    for (const plan::Group& group : space.groups) {
      for (const plan::Rule& rule : group.rules) {
        const Status status = CheckRule(space, rule);
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
