// Builds one DomainPlan, merging equal nodes into one node and equal windows into one demand.
// Private to this module.
#pragma once

#include <string>

#include "rules/plan/program/program.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {

class DomainBuilder {
 public:
  explicit DomainBuilder(ClockSpec clock) { domain_.demands.clock = std::move(clock); }

  // Adds a node whose inputs are already in the plan. Returns the existing node if an equal one
  // exists.
  NodeId AddNode(Node node);
  // Adds a demand on the store unless an equal one exists, and returns its index.
  uint32_t AddDemand(Selector selector, Demand demand);
  // Adds a subquery, computes its `from_nothing` and key, and returns its index.
  uint32_t AddSubquery(NodeId expr, Duration step);
  // Adds a window over the subquery's results and returns its demand index within the subquery.
  uint32_t AddWindow(uint32_t subquery, Demand demand);
  // Returns the index of the new parameter.
  uint32_t AddParameter(Parameter parameter);
  void AddGroup(Group group) { domain_.groups.push_back(std::move(group)); }

  const Node& node(NodeId id) const { return domain_.nodes[id.index()]; }
  // Returns the node's text as an operand, in parentheses if it is an operation itself.
  std::string OperandText(NodeId id) const;
  const DomainPlan& domain() const { return domain_; }
  DomainPlan Take() { return std::move(domain_); }

 private:
  std::string IdentityOf(NodeId id) const;
  bool MayBeFromNothing(NodeId id) const;

  DomainPlan domain_;
  StringMap<uint32_t> nodes_;
  StringMap<uint32_t> selectors_;
  StringMap<uint32_t> demands_;
  StringMap<uint32_t> subqueries_;
};

}  // namespace pitwall::plan
