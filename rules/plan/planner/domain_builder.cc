#include "rules/plan/planner/domain_builder.h"

#include <algorithm>

#include "rules/plan/program/function.h"
#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::plan {
namespace {

// Appends the node's computation without its indexes.
void AddShape(const Node& node, BinaryWriter& key) {
  const auto strings = [&](const std::vector<std::string>& list) {
    key.U64(list.size());
    for (const std::string& text : list) key.Str(text);
  };
  key.U8(static_cast<uint8_t>(node.kind));
  key.U8(static_cast<uint8_t>(node.type));
  key.Double(node.number);
  key.Bool(node.keep_name);
  key.U8(static_cast<uint8_t>(node.binary));
  key.Bool(node.return_bool);
  key.U8(static_cast<uint8_t>(node.set));
  key.U8(static_cast<uint8_t>(node.aggregate));
  key.Bool(node.without);
  strings(node.grouping);
  key.Bool(node.matching.on);
  strings(node.matching.labels);
  key.U8(static_cast<uint8_t>(node.matching.cardinality));
  strings(node.matching.include);
  key.U64(node.function);
  strings(node.strings);
}

// Returns a key for the node's complete computation. The node's text is a rendering of the same
// computation.
std::string NodeKey(const Node& node) {
  BinaryWriter key;
  AddShape(node, key);
  key.U64(node.inputs.size());
  for (const NodeId input : node.inputs) key.U64(input.value());
  key.U64(node.parameter);
  key.U64(node.source);
  key.U64(node.demand);
  return key.Take();
}

}  // namespace

NodeId DomainBuilder::AddNode(Node node) {
  const auto id = static_cast<uint32_t>(domain_.nodes.size());
  const auto [found, inserted] = nodes_.emplace(NodeKey(node), id);
  if (inserted) domain_.nodes.push_back(std::move(node));
  return NodeId(found->second);
}

uint32_t DomainBuilder::AddDemand(Selector selector, Demand demand) {
  DemandSet& set = domain_.demands;
  const auto [found, inserted] =
      demands_.emplace(demand.Key(selector), static_cast<uint32_t>(set.demands.size()));
  if (!inserted) return found->second;
  const auto [selector_found, new_selector] =
      selectors_.emplace(selector.Key(), static_cast<uint32_t>(set.selectors.size()));
  if (new_selector) set.selectors.push_back(std::move(selector));
  demand.selector = selector_found->second;
  set.demands.push_back(demand);
  return found->second;
}

// Returns a key that is equal for equal expressions in every rule set, including windows and
// parameters.
std::string DomainBuilder::IdentityOf(NodeId id) const {
  const Node& node = domain_.nodes[id.index()];
  BinaryWriter out;
  AddShape(node, out);
  if (node.kind == NodeKind::kParameter) {
    out.Str(domain_.parameters[node.parameter].rule);
    out.Str(domain_.parameters[node.parameter].name);
  }
  if (node.kind == NodeKind::kDemand) {
    const DemandSet& set = DemandsOf(domain_, node.source);
    const Demand& demand = set.demands[node.demand];
    out.Str(demand.Key(set.selectors[demand.selector]));
    out.Str(node.source == 0 ? std::string() : domain_.subqueries[node.source - 1].key);
  }
  for (const NodeId input : node.inputs) out.Str(IdentityOf(input));
  return StableHashHex(out.data());
}

bool DomainBuilder::MayBeFromNothing(NodeId id) const {
  const Node& node = domain_.nodes[id.index()];
  const auto input = [&](size_t k) { return MayBeFromNothing(node.inputs[k]); };
  if (node.type == ValueType::kScalar) return true;
  switch (node.kind) {
    case NodeKind::kDemand:
      return node.source > 0 && domain_.subqueries[node.source - 1].from_nothing;
    case NodeKind::kSetOp:
      return node.set == SetOp::kAnd  ? input(0) && input(1)
             : node.set == SetOp::kOr ? input(0) || input(1)
                                      : input(0);
    case NodeKind::kFunction:
      if (node.function == static_cast<uint32_t>(FunctionId::kAbsent)) return true;
      break;
    default:
      break;
  }
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!input(k)) return false;
  }
  return true;
}

uint32_t DomainBuilder::AddSubquery(NodeId expr, int64_t step) {
  Subquery subquery;
  subquery.expr = expr;
  subquery.step = step;
  subquery.from_nothing = MayBeFromNothing(expr);
  subquery.key = Cat(IdentityOf(expr), "/", step);
  subquery.demands.clock = domain_.demands.clock;
  subquery.demands.selectors.emplace_back();  // no matchers, so it selects every series
  const auto [found, inserted] =
      subqueries_.emplace(subquery.key, static_cast<uint32_t>(domain_.subqueries.size()));
  if (inserted) domain_.subqueries.push_back(std::move(subquery));
  return found->second;
}

uint32_t DomainBuilder::AddWindow(uint32_t index, Demand demand) {
  Subquery& subquery = domain_.subqueries[index];
  std::vector<Demand>& demands = subquery.demands.demands;
  demand.selector = 0;
  const std::string key = demand.Key(subquery.demands.selectors[0]);
  subquery.reach = std::max(subquery.reach, demand.range + demand.offset + demand.lookback);
  for (uint32_t d = 0; d < demands.size(); ++d) {
    if (demands[d].Key(subquery.demands.selectors[0]) == key) return d;
  }
  demands.push_back(std::move(demand));
  return static_cast<uint32_t>(demands.size() - 1);
}

uint32_t DomainBuilder::AddParameter(Parameter parameter) {
  domain_.parameters.push_back(std::move(parameter));
  return static_cast<uint32_t>(domain_.parameters.size() - 1);
}

std::string DomainBuilder::OperandText(NodeId id) const {
  const Node& operand = node(id);
  const bool compound = operand.kind == NodeKind::kBinary || operand.kind == NodeKind::kSetOp ||
                        operand.kind == NodeKind::kNegate;
  return compound ? Cat("(", operand.text, ")") : operand.text;
}

}  // namespace pitwall::plan
