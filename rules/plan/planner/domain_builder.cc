#include "rules/plan/planner/domain_builder.h"

#include <algorithm>
#include <span>

#include "rules/plan/program/function.h"
#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::plan {
namespace {

using Strings = std::span<const std::string>;

// Fields of all operations, in the order of a subquery's key. A field that the node's operation
// lacks keeps its default, because a changed key would discard state.
struct Shape {
  double number = 0;
  bool keep_name = false;
  BinaryOp binary = BinaryOp::kAdd;
  bool return_bool = false;
  SetOp set = SetOp::kAnd;
  AggregateOp aggregate = AggregateOp::kSum;
  bool without = false;
  Strings grouping;
  bool on = false;
  Strings matching_labels;
  Cardinality cardinality = Cardinality::kOneToOne;
  Strings included_labels;
  FunctionId function{};
  Strings strings;
};

// Visitor that sets the fields of the operation. The shape refers to the operation's strings.
class ShapeReader {
 public:
  explicit ShapeReader(Shape* shape) : shape_(shape) {}

  void operator()(const Number& number) { shape_->number = number.value; }
  void operator()(const ParameterValue&) {}
  void operator()(const EvaluationTime&) {}
  void operator()(const DemandColumn& column) { shape_->keep_name = column.keep_name; }
  void operator()(const Negation&) {}
  void operator()(const BinaryOperation& binary) {
    shape_->binary = binary.op;
    shape_->return_bool = binary.return_bool;
    Read(binary.matching);
  }
  void operator()(const SetOperation& set) {
    shape_->set = set.op;
    Read(set.matching);
  }
  void operator()(const Aggregation& aggregation) {
    shape_->aggregate = aggregation.op;
    shape_->without = aggregation.without;
    shape_->grouping = aggregation.grouping;
    if (aggregation.op == AggregateOp::kCountValues)
      shape_->strings = Strings(&aggregation.value_label, 1);
  }
  void operator()(const FunctionCall& call) {
    shape_->function = call.function;
    shape_->included_labels = call.absent_labels;
    shape_->strings = call.strings;
  }

 private:
  void Read(const Matching& matching) {
    shape_->on = matching.on;
    shape_->matching_labels = matching.labels;
    shape_->cardinality = matching.cardinality;
    shape_->included_labels = matching.include;
  }

  Shape* shape_;
};

// Appends the node's computation without its indexes.
void AddShape(const Node& node, BinaryWriter& key) {
  const auto strings = [&](Strings list) {
    key.U64(list.size());
    for (const std::string& text : list) key.Str(text);
  };
  Shape shape;
  std::visit(ShapeReader(&shape), node.operation);
  key.U8(static_cast<uint8_t>(node.operation.index()));
  key.U8(static_cast<uint8_t>(node.type));
  key.Double(shape.number);
  key.Bool(shape.keep_name);
  key.U8(static_cast<uint8_t>(shape.binary));
  key.Bool(shape.return_bool);
  key.U8(static_cast<uint8_t>(shape.set));
  key.U8(static_cast<uint8_t>(shape.aggregate));
  key.Bool(shape.without);
  strings(shape.grouping);
  key.Bool(shape.on);
  strings(shape.matching_labels);
  key.U8(static_cast<uint8_t>(shape.cardinality));
  strings(shape.included_labels);
  key.U64(static_cast<uint32_t>(shape.function));
  strings(shape.strings);
}

// Returns a key for the node's complete computation. The node's text is a rendering of the same
// computation.
std::string NodeKey(const Node& node) {
  BinaryWriter key;
  AddShape(node, key);
  key.U64(node.inputs.size());
  for (const NodeId input : node.inputs) key.U64(input.value());
  if (const auto* value = node.As<ParameterValue>()) key.U64(value->parameter);
  if (const auto* column = node.As<DemandColumn>()) {
    key.U64(column->ref.source);
    key.U64(column->ref.demand);
  }
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
  if (const auto* value = node.As<ParameterValue>()) {
    out.Str(domain_.parameters[value->parameter].rule);
    out.Str(domain_.parameters[value->parameter].name);
  }
  if (const auto* column = node.As<DemandColumn>()) {
    const uint32_t source = column->ref.source;
    const Demand& demand = DemandAt(domain_, column->ref);
    out.Str(demand.Key(DemandsOf(domain_, source).selectors[demand.selector]));
    out.Str(source == 0 ? std::string() : domain_.subqueries[source - 1].key);
  }
  for (const NodeId input : node.inputs) out.Str(IdentityOf(input));
  return StableHashHex(out.data());
}

bool DomainBuilder::MayBeFromNothing(NodeId id) const {
  const Node& node = domain_.nodes[id.index()];
  const auto input = [&](size_t k) { return MayBeFromNothing(node.inputs[k]); };
  if (node.type == ValueType::kScalar) return true;
  if (const auto* column = node.As<DemandColumn>())
    return column->ref.source > 0 && domain_.subqueries[column->ref.source - 1].from_nothing;
  if (const auto* set = node.As<SetOperation>()) {
    return set->op == SetOp::kAnd  ? input(0) && input(1)
           : set->op == SetOp::kOr ? input(0) || input(1)
                                   : input(0);
  }
  if (const auto* call = node.As<FunctionCall>();
      call != nullptr && call->function == FunctionId::kAbsent) {
    return true;
  }
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!input(k)) return false;
  }
  return true;
}

uint32_t DomainBuilder::AddSubquery(NodeId expr, Duration step) {
  Subquery subquery;
  subquery.expr = expr;
  subquery.step = step;
  subquery.from_nothing = MayBeFromNothing(expr);
  subquery.key = Cat(IdentityOf(expr), "/", step.ns());
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
  subquery.reach =
      std::max(subquery.reach, Duration::Nanos(demand.range + demand.offset + demand.lookback));
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
  const bool compound = operand.As<BinaryOperation>() != nullptr ||
                        operand.As<SetOperation>() != nullptr || operand.As<Negation>() != nullptr;
  return compound ? Cat("(", operand.text, ")") : operand.text;
}

}  // namespace pitwall::plan
