// Compiled form of a rule set. A Program is immutable, shared by all jobs and threads, and
// independent of any job's state.
//
//   rule files --lang--> AST --check--> checked rules --plan--> Program --eval--> Vector per tick
//   --alert--> transitions
//
// Expressions become nodes of one directed acyclic graph per clock. Across all rules, equal
// subexpressions share a node, and equal windows share a demand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/plan/program/node.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"

namespace pitwall::plan {

// Effect of a new parameter value. A number changes in place, but a window length ([$n samples]) or
// a matcher text needs a variant of the program.
enum class ParameterKind { kNumber, kCount, kText };

// Parameter of a rule, used as $name in its expressions. It can be overridden per job.
struct Parameter {
  std::string rule;  // full name: pack/group/alert
  std::string name;
  double value = 0;
  std::string unit;  // unit for display ("percent", "steps"); may be empty
  std::string help;
  ParameterKind kind = ParameterKind::kNumber;
  std::string text = {};  // value of a kText parameter
};

// Issues explained by an issue of this rule (rules/lang/files/rule_file.h).
struct Explains {
  std::string alert;
  std::vector<std::string> equal;
  bool job_wide = false;
  std::optional<Duration> lag;     // unset means the engine's default
  std::optional<Duration> within;  // unset means no limit
};

enum class RuleKind { kAlert, kRecord };
enum class AlertScope { kJob, kAttempt };

// Template as written ("{{ $labels.gpu }} at {{ $value }}"), checked when it is loaded.
struct Template {
  std::string name;  // name of the label or annotation
  std::string text;
  std::vector<NodeId> queries;  // its queries, in order
};

// Metric that must exist before the rule is evaluated for a job.
struct Need {
  std::string metric;
  // Instant demand on the metric; the need is met when its column has a present series.
  uint32_t demand = 0;
};

// Outermost comparison in a rule, and the values to show with it.
struct Comparison {
  // Left side of the comparison (looking through parentheses and into the left arm of
  // `and`/`unless`), or expr if there is no such comparison (kNoNode). An issue whose labels are
  // missing from the subject ends with no_data.
  NodeId subject = kNoNode;
  NodeId threshold = kNoNode;    // right side of the comparison if it is a scalar
  bool least_is_worst = false;   // true if smaller values of the subject are worse
  std::vector<NodeId> evidence;  // subexpressions whose values explain the issue
};

struct Rule {
  RuleKind kind = RuleKind::kAlert;
  std::string name;   // pack/group/alert (or record), with #n appended for repeats within the group
  std::string alert;  // alert name, or the recorded metric
  std::string file;
  int line = 0;
  NodeId expr = kNoNode;
  NodeId clear = kNoNode;  // hysteresis condition
  Comparison comparison;   // set only for alerts
  Duration hold;           // `for`
  Duration keep_firing;
  Duration unsteady;  // event time on both clocks; 0 means off
  AlertScope scope = AlertScope::kJob;
  // Sorted labels. Elements that differ only in these labels form a single issue.
  std::vector<std::string> fold;
  std::vector<Template> labels;
  std::vector<Template> annotations;
  std::vector<Need> needs;
  // True if the file lists the needs. The rule is then evaluated only after each need has been met
  // once. Otherwise, the needs are derived from the expression and affect only the status.
  bool waits_for_needs = false;
  std::vector<Explains> explains;
  std::vector<uint32_t> parameters;  // indexes into DomainPlan::parameters
  // Identity of the rule's state (expr, clear, hold, keep_firing, unsteady, scope, fold, labels).
  // If fingerprints are equal, alert state is kept across a reload.
  std::string fingerprint;
};

// Returns all nodes that an evaluation of the rule may read: expr, clear, and its template queries.
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
  Duration interval;  // > 0
  bool align_job = false;
  Duration lookback;
  // Maximum number of elements per rule, 0 for no limit; a rule with more elements fails.
  uint32_t limit = 0;
  std::vector<Rule> rules;
};

// Expression evaluated at every multiple of `step`. Its results are samples for windows:
// max_over_time(rate(x[1m])[10m:30s]).
struct Subquery {
  NodeId expr = kNoNode;
  Duration step;   // counted from the epoch
  Duration reach;  // maximum look-back of its windows (range plus offset)
  // True if the expression may have results without any samples (vector(1), absent()). It then also
  // has results before the job started.
  bool from_nothing = false;
  std::string key;  // identity of the computation; if keys are equal, state is kept across a reload
  DemandSet demands;  // one selector without matchers, and the windows over the results
};

// All rules on one clock. Groups are in (file, position) order, which is also their evaluation
// order at one tick.
struct DomainPlan {
  DemandSet demands;  // demands.clock is the clock
  // Each subquery reads only earlier subqueries.
  std::vector<Subquery> subqueries;
  std::vector<Node> nodes;
  std::vector<Parameter> parameters;
  std::vector<Group> groups;
};

// Returns the demands of a source (DemandRef::source).
inline const DemandSet& DemandsOf(const DomainPlan& domain, uint32_t source) {
  return source == 0 ? domain.demands : domain.subqueries[source - 1].demands;
}
inline const Demand& DemandAt(const DomainPlan& domain, DemandRef ref) {
  return DemandsOf(domain, ref.source).demands[ref.demand];
}

class Overrides;  // rules/plan/program/overrides.h
struct Baseline;  // rules/plan/baseline.h

struct Program {
  std::string hash;  // hash of the rule set that the program was compiled from
  std::shared_ptr<const Overrides>
      overrides;  // parameters per job; use ParametersFor (compile.h) to read them
  std::vector<std::shared_ptr<const Baseline>>
      baselines;  // summaries of finished jobs; use BaselinesFor (baseline.h) to read them
  std::vector<DomainPlan> domains;  // the time domain first, if any, then step domains by mode
};

using ProgramPtr = std::shared_ptr<const Program>;

}  // namespace pitwall::plan
