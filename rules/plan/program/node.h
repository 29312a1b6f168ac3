// Nodes of a DomainPlan's expression graph. A node's inputs always have smaller IDs than the node.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rules/plan/program/function.h"
#include "services/base/id.h"
#include "services/model/operators.h"

namespace pitwall::plan {

using NodeId = Id<struct NodeIdTag>;
inline constexpr NodeId kNoNode{UINT32_MAX};

enum class ValueType { kScalar, kVector, kString };

enum class SetOp { kAnd, kOr, kUnless };
enum class Cardinality { kOneToOne, kManyToOne /* group_left */, kOneToMany /* group_right */ };

// Vector matching of a BinaryOperation or a SetOperation.
struct Matching {
  bool on = false;  // on(labels) if true, otherwise ignoring(labels)
  std::vector<std::string> labels;
  Cardinality cardinality = Cardinality::kOneToOne;
  // Labels that group_left or group_right copies from the "one" side.
  std::vector<std::string> include;
  friend bool operator==(const Matching&, const Matching&) = default;
};

// Reference to a demand of a domain.
struct DemandRef {
  // 0 for DomainPlan::demands, otherwise DomainPlan::subqueries[source - 1].demands
  uint32_t source = 0;
  uint32_t demand = 0;  // index within the source's demands
  friend auto operator<=>(const DemandRef&, const DemandRef&) = default;
};

// Constant. No inputs.
struct Number {
  double value = 0;
};

// Value of a rule's parameter. Each evaluation supplies the values, because jobs can override them.
// No inputs.
struct ParameterValue {
  uint32_t parameter = 0;  // index into DomainPlan::parameters
};

// Result of time(): the tick in seconds, or the step. No inputs.
struct EvaluationTime {};

// Column of a demand on the store or on a subquery. Inputs: the scalar arguments of the demand's
// function.
struct DemandColumn {
  DemandRef ref;
  bool keep_name = false;  // true for labels with __name__, as in an instant selector
};

// Negation of the input.
struct Negation {};

// Arithmetic or comparison of two inputs. Each input is a scalar or a vector.
struct BinaryOperation {
  BinaryOp op = BinaryOp::kAdd;
  bool return_bool = false;  // comparison with `bool`
  Matching matching;         // used if both inputs are vectors
};

// Set operation on two vectors.
struct SetOperation {
  SetOp op = SetOp::kAnd;
  Matching matching;
};

// Aggregation of the first input. The second input, if any, is the scalar parameter (φ, k).
struct Aggregation {
  AggregateOp op = AggregateOp::kSum;
  bool without = false;               // `without` if true, otherwise `by`
  std::vector<std::string> grouping;  // sorted labels
  std::string value_label;            // label that receives the value in kCountValues
};

// Function of the inputs.
struct FunctionCall {
  FunctionId function{};
  std::vector<std::string> strings;  // string arguments
  // Labels of the element that absent() returns, as name=value.
  std::vector<std::string> absent_labels;
};

struct Node {
  // The order is part of the keys of subqueries (domain_builder.cc).
  using Operation = std::variant<Number, ParameterValue, EvaluationTime, DemandColumn, Negation,
                                 BinaryOperation, SetOperation, Aggregation, FunctionCall>;

  ValueType type = ValueType::kScalar;
  std::vector<NodeId> inputs;
  Operation operation;
  // Canonical expression, used for evidence, --explain, and the identity of the state.
  std::string text;

  // Returns the operation, or null if it has a different type.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&operation);
  }
};

}  // namespace pitwall::plan
