// Compiled form of a rule set: immutable, shared by all jobs and threads, and independent of any
// job's state.
//
//   rule files --lang--> AST --check--> checked rules --plan--> Program --eval--> Vector per tick
//   --alert--> transitions
//
// Expressions become nodes of one directed acyclic graph per clock; equal sub-expressions are one
// node and equal windows one demand, across all rules. Inputs of a node always have smaller ids
// than the node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/id.h"
#include "services/model/windows/demand.h"

namespace pitwall::plan {

using NodeId = Id<struct NodeIdTag>;
inline constexpr NodeId kNoNode{UINT32_MAX};

enum class ValueType { kScalar, kVector, kString };

enum class NodeKind {
  kNumber,     // number
  kParameter,  // `parameter`: index into DomainPlan::parameters; the value comes with the
               // evaluation (overrides per job)
  kTime,       // time(): the tick in seconds, or the step
  kDemand,     // one column of the view: `demand`; inputs: the scalar arguments of its function.
               // keep_name: labels with __name__ (instant selectors), else without
  kNegate,     // -input
  kBinary,     // inputs[0] op inputs[1]; scalar or vector either side
  kSetOp,      // and, or, unless over two vectors
  kAggregate,  // op over inputs[0], by or without `grouping`; inputs[1] is its parameter (φ, k)
  kFunction,   // `function` over inputs (see function.h of this module)
};

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMod, kPow, kAtan2, kEq, kNe, kGt, kLt, kGe, kLe };
enum class SetOp { kAnd, kOr, kUnless };
enum class AggregateOp {
  kSum,
  kAvg,
  kMin,
  kMax,
  kCount,
  kGroup,
  kStddev,
  kStdvar,
  kQuantile,
  // These select elements without changing them.
  kTopk,
  kBottomk,
  kLimitk,
  kLimitRatio,
  kCountValues,  // strings[0]: the label that holds the value
};
enum class Cardinality { kOneToOne, kManyToOne /* group_left */, kOneToMany /* group_right */ };

inline bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq; }

// Vector matching of kBinary and kSetOp.
struct Matching {
  bool on = false;  // on(labels), else ignoring(labels)
  std::vector<std::string> labels;
  Cardinality cardinality = Cardinality::kOneToOne;
  std::vector<std::string> include;  // labels that group_left / group_right copy from the one side
  friend bool operator==(const Matching&, const Matching&) = default;
};

struct Node {
  NodeKind kind = NodeKind::kNumber;
  ValueType type = ValueType::kScalar;
  std::vector<NodeId> inputs;
  double number = 0;
  uint32_t parameter = 0;
  // index into DomainPlan::demands (0), or into DomainPlan::subqueries[source - 1].demands
  uint32_t source = 0;
  uint32_t demand = 0;
  bool keep_name = false;
  BinaryOp binary = BinaryOp::kAdd;
  bool return_bool = false;
  SetOp set = SetOp::kAnd;
  AggregateOp aggregate = AggregateOp::kSum;
  bool without = false;
  std::vector<std::string> grouping;
  Matching matching;
  uint32_t function = 0;             // FunctionId
  std::vector<std::string> strings;  // string arguments of kFunction and kAggregate
  std::string text;  // canonical expression, for evidence, --explain and the state's identity
};

// Effect of a new parameter value: a number changes in place; a window length ([$n samples]) or a
// matcher text needs a variant of the program.
enum class ParameterKind { kNumber, kCount, kText };

// A parameter of a rule: $name in its expressions. Overridable per job.
struct Parameter {
  std::string rule;  // full name: pack/group/alert
  std::string name;
  double value = 0;
  std::string unit;  // for display: "percent", "steps"; may be empty
  std::string help;
  ParameterKind kind = ParameterKind::kNumber;
  std::string text = {};  // kText
};

// Issues that an issue of this rule explains (rules/lang/files/rule_file.h).
struct Explains {
  std::string alert;
  std::vector<std::string> equal;
  bool job_wide = false;
  int64_t lag_ns = -1;     // -1: the engine's default
  int64_t within_ns = -1;  // -1: no limit
};

enum class RuleKind { kAlert, kRecord };
enum class AlertScope { kJob, kAttempt };

// A template as written ("{{ $labels.gpu }} at {{ $value }}"), checked at load.
struct Template {
  std::string name;  // label or annotation name
  std::string text;
  std::vector<NodeId> queries;  // its queries, in order
};

// A metric that must exist before the rule is evaluated on a job.
struct Need {
  std::string metric;
  uint32_t demand = 0;  // an instant demand on it, met when the column has a present series
};

struct Rule {
  RuleKind kind = RuleKind::kAlert;
  std::string name;   // pack/group/alert (or record), plus #n for repeats within the group
  std::string alert;  // or the recorded metric
  std::string file;
  int line = 0;
  NodeId expr = kNoNode;
  NodeId clear = kNoNode;  // hysteresis
  // Left side of the outermost comparison (inside parentheses and the left arm of `and`/`unless`),
  // or expr if there is no such comparison (kNoNode). An issue whose labels are missing there ends
  // with no_data.
  NodeId subject = kNoNode;
  NodeId threshold = kNoNode;  // right side of that comparison if it is a scalar
  int64_t hold = 0;            // for, position units
  int64_t keep_firing = 0;
  int64_t unsteady_ns = 0;  // of event time on both clocks; 0: off
  AlertScope scope = AlertScope::kJob;
  // Elements that differ only in these labels form one issue. Sorted.
  std::vector<std::string> fold;
  bool least_is_worst = false;  // its comparison is < or <=
  std::vector<Template> labels;
  std::vector<Template> annotations;
  std::vector<Need> needs;
  // Whether the file lists the needs: the rule is then evaluated only after each was met once.
  // Otherwise the needs follow from the expression and affect only the status.
  bool waits_for_needs = false;
  std::vector<Explains> explains;
  std::vector<uint32_t> parameters;  // indices into DomainPlan::parameters
  std::vector<NodeId> evidence;      // sub-expressions whose values explain the issue
  // Identity of all state of the rule (expr, clear, hold, keep_firing, unsteady, scope, fold,
  // labels): equal fingerprints keep alert state across a reload.
  std::string fingerprint;
};

// All nodes that an evaluation of the rule may read: expr, clear, and its template queries.
inline std::vector<NodeId> RootsOf(const Rule& rule) {
  std::vector<NodeId> roots;
  for (const NodeId node : {rule.expr, rule.clear}) {
    if (node != kNoNode) roots.push_back(node);
  }
  for (const std::vector<Template>* texts : {&rule.labels, &rule.annotations}) {
    for (const Template& text : *texts)
      roots.insert(roots.end(), text.queries.begin(), text.queries.end());
  }
  return roots;
}

struct Group {
  std::string name;  // pack/group
  std::string file;
  int64_t interval = 0;  // position units; > 0
  bool align_job = false;
  int64_t lookback = 0;
  uint32_t limit = 0;  // 0: no limit; a rule with more elements fails
  std::vector<Rule> rules;
};

// An expression that is evaluated at every multiple of `step`, so that its results are samples for
// windows: max_over_time(rate(x[1m])[10m:30s]).
struct Subquery {
  NodeId expr = kNoNode;
  int64_t step = 0;   // position units; counted from the epoch
  int64_t reach = 0;  // how far its windows look back: range plus offset
  // Whether the expression may have results without any samples (vector(1), absent()): then it also
  // has them before the job began.
  bool from_nothing = false;
  std::string key;    // identity of the computation: equal keys keep state across a reload
  DemandSet demands;  // one selector without matchers, and the windows over the results
};

// All rules on one clock. Groups are in (file, position) order, which is their evaluation order at
// one tick.
struct DomainPlan {
  DemandSet demands;  // demands.clock is the clock
  // Each subquery reads only earlier ones.
  std::vector<Subquery> subqueries;
  std::vector<Node> nodes;
  std::vector<Parameter> parameters;
  std::vector<Group> groups;
};

// A demand of a domain: source and index as in Node.
struct DemandRef {
  uint32_t source = 0;
  uint32_t demand = 0;
  friend auto operator<=>(const DemandRef&, const DemandRef&) = default;
};
inline const DemandSet& DemandsOf(const DomainPlan& domain, uint32_t source) {
  return source == 0 ? domain.demands : domain.subqueries[source - 1].demands;
}

class Overrides;  // rules/plan/program/overrides.h
struct Baseline;  // rules/plan/baseline.h

struct Program {
  std::string hash;  // of the rule set it was compiled from
  std::shared_ptr<const Overrides>
      overrides;  // parameters per job; read through ParametersFor (compile.h)
  std::vector<std::shared_ptr<const Baseline>>
      baselines;                    // of finished jobs; read through BaselinesFor (baseline.h)
  std::vector<DomainPlan> domains;  // time first, if any; then step domains by mode
};

using ProgramPtr = std::shared_ptr<const Program>;

}  // namespace pitwall::plan
