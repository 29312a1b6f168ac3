#include "rules/plan/cost/rule_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "rules/plan/cost/label_growth.h"
#include "rules/plan/program/function.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"
#include "services/model/windows/function_table.h"
#include "services/model/windows/pane_grid.h"
#include "services/model/windows/window_limits.h"

namespace pitwall::plan {
namespace {

constexpr double kUnit = 1e9;  // position units per second or step

// Window costs as measured in docs/performance.md. The costs of families and functions are in
// window_state.h and functions.inc.
constexpr double kSamplesIn = 60.0;  // windows like [N samples]
constexpr double kSamplesWalk = 18.0;
constexpr double kMaxSlopeSamples = 256;  // services/window/functions/trend.h
constexpr double kBucketWork = 3.0;       // histogram_over_time, per bucket
constexpr double kBucketBytes = 8;

// Costs of expression nodes per element.
constexpr double kElementWork = 1.0;
constexpr double kLibraryWork = 10.0;  // ^, atan2, %
constexpr double kMatchWork = 4.0;
constexpr double kAggregateWork = 4.0;
constexpr double kSortWork = 80.0;     // topk and quantile
constexpr double kLabelsWork = 300.0;  // count_values: one label set per element
constexpr double kResultBytes = 9;     // a double and a byte per element

// Nanoseconds per series of a window: per added sample, per read, and per sample walked by a read.
struct WindowWork {
  double sample, read, walk;
};

WindowWork WorkOf(const Demand& demand, const WindowState& state) {
  const double own = RowOf(demand.function).cost.walk;
  WindowWork work{state.sample_ns, state.read_ns, own >= 0 ? own : state.walk_ns};
  // A full window costs one comparison, because its result is cached.
  if (demand.kind == WindowKind::kFirst) return {work.read, work.read, 0};
  if (demand.kind == WindowKind::kSamples) {
    work.sample = std::max(work.sample, kSamplesIn);
    work.walk = kSamplesWalk;
  }
  return work;
}

// Returns the additional work of functions that examine pairs (robust_deriv) or sort
// (kendall_tau_over_time).
double PairsWork(const Demand& demand, double samples) {
  if (demand.kind == WindowKind::kFirst) return 0;
  const CostRow& cost = RowOf(demand.function).cost;
  const double most = std::min(samples, kMaxSlopeSamples);
  return cost.pair * most * most / 2 +
         cost.comparison * samples * std::log2(std::max(samples, 2.0));
}

bool IsDynamic(AggregateOp op) {
  switch (op) {
    case AggregateOp::kTopk:
    case AggregateOp::kBottomk:
    case AggregateOp::kLimitk:
    case AggregateOp::kLimitRatio:
    case AggregateOp::kCountValues:
      return true;
    default:
      return false;
  }
}

bool IsDynamic(const Node& node) {
  const auto* aggregation = node.As<Aggregation>();
  return aggregation != nullptr && IsDynamic(aggregation->op);
}

// Visitor that returns the work of a vector operation, per element and evaluation. Window columns
// are counted with their windows.
class OperationWork {
 public:
  // `both_vectors` is true if the node has two inputs, and both are vectors.
  explicit OperationWork(bool both_vectors) : both_vectors_(both_vectors) {}

  double operator()(const Number&) const { return 0; }
  double operator()(const ParameterValue&) const { return 0; }
  double operator()(const EvaluationTime&) const { return 0; }
  double operator()(const DemandColumn&) const { return 0; }
  double operator()(const Negation&) const { return kElementWork; }
  double operator()(const BinaryOperation& binary) const {
    const bool library =
        binary.op == BinaryOp::kPow || binary.op == BinaryOp::kAtan2 || binary.op == BinaryOp::kMod;
    return (both_vectors_ ? kMatchWork : kElementWork) + (library ? kLibraryWork : 0);
  }
  double operator()(const SetOperation&) const { return kMatchWork; }
  double operator()(const Aggregation& aggregation) const {
    if (aggregation.op == AggregateOp::kCountValues) return kLabelsWork;
    return IsDynamic(aggregation.op) || aggregation.op == AggregateOp::kQuantile ? kSortWork
                                                                                 : kAggregateWork;
  }
  double operator()(const FunctionCall& call) const { return RowOf(call.function).cost.element; }

 private:
  bool both_vectors_;
};

double NodeWork(const DomainPlan& domain, const Node& node) {
  if (node.type != ValueType::kVector) return 0;
  const auto is_vector = [&](NodeId input) {
    return domain.nodes[input.index()].type == ValueType::kVector;
  };
  const bool both_vectors =
      node.inputs.size() == 2 && is_vector(node.inputs[0]) && is_vector(node.inputs[1]);
  return std::visit(OperationWork(both_vectors), node.operation);
}

// Estimates the number of elements per series of a node's selector: the buckets of
// histogram_over_time, and elementwise results computed from them.
class ElementCount {
 public:
  explicit ElementCount(const DomainPlan& domain)
      : domain_(domain), known_(domain.nodes.size(), 0) {}

  double Of(NodeId id) {
    double& known = known_[id.index()];
    if (known == 0) known = Count(domain_.nodes[id.index()]);
    return known;
  }
  // Returns the count of the input with the most elements.
  double OfInputs(const Node& node) {
    double most = 1;
    for (const NodeId input : node.inputs) most = std::max(most, Of(input));
    return most;
  }
  double OfSource(uint32_t source) {
    return source == 0 ? 1 : Of(domain_.subqueries[source - 1].expr);
  }

 private:
  double Count(const Node& node) {
    if (const auto* column = node.As<DemandColumn>()) {
      double own = 1;
      if (DemandAt(domain_, column->ref).function == WindowFunction::kHistogram) {
        // rules/check requires numbers as arguments.
        own = std::get<Number>(domain_.nodes[node.inputs[2].index()].operation).value + 1;
      }
      return own * OfSource(column->ref.source);
    }
    if (const auto* aggregation = node.As<Aggregation>()) {
      const std::vector<std::string>& grouping = aggregation->grouping;
      const bool named = std::find(grouping.begin(), grouping.end(), "le") != grouping.end();
      const bool keeps = aggregation->op >= AggregateOp::kTopk || named != aggregation->without;
      return keeps ? Of(node.inputs[0]) : 1;
    }
    if (const auto* call = node.As<FunctionCall>();
        call != nullptr && RowOf(call->function).together)
      return 1;
    return OfInputs(node);
  }
  const DomainPlan& domain_;
  std::vector<double> known_;  // 0 means not computed yet
};

// Visits each dependency of the added nodes once, including subqueries.
class RuleWalk {
 public:
  RuleWalk(const DomainPlan& domain, const CostOptions& options, Duration interval, RuleCost* cost)
      : domain_(domain),
        options_(options),
        rule_interval_(interval),
        cost_(cost),
        elements_(domain),
        labels_(domain) {}

  void Add(NodeId root) {
    if (root == kNoNode) return;
    nodes_ = 0;
    Visit(root, rule_interval_, 0);
    cost_->expression_ns_per_second += nodes_ / Seconds(rule_interval_);
  }
  void AddDemand(DemandRef ref) { demands_.insert(ref); }

  void Finish() {
    double rate = cost_->expression_ns_per_second;
    for (const DemandRef& ref : demands_) {
      cost_->windows.push_back(Window(ref));
      cost_->state_bytes += cost_->windows.back().state_bytes;
      rate += cost_->windows.back().ns_per_second;
      cost_->rescans = cost_->rescans || cost_->windows.back().shape.rescans;
    }
    for (const auto& [index, subquery] : subqueries_) {
      cost_->subqueries.push_back(subquery);
      cost_->subquery_depth = std::max(cost_->subquery_depth, subquery.depth);
      rate += subquery.ns_per_second;
    }
    cost_->state_bytes += kResultBytes * results_ + cost_->label_bytes;
    cost_->work_ns = rate * Seconds(rule_interval_);
  }

 private:
  static double Seconds(Duration length) { return static_cast<double>(length.ns()) / kUnit; }

  void Visit(NodeId id, Duration interval, int depth) {
    if (!seen_.insert({id.value(), interval}).second) return;
    const Node& node = domain_.nodes[id.index()];
    nodes_ += NodeWork(domain_, node) * elements_.OfInputs(node);
    if (node.type == ValueType::kVector) results_ += elements_.Of(id);
    if (named_.insert(id.value()).second)
      cost_->label_bytes += labels_.BytesOf(id) * elements_.Of(id);
    cost_->dynamic_labels = cost_->dynamic_labels || IsDynamic(node);
    if (const auto* column = node.As<DemandColumn>()) {
      const DemandRef ref = column->ref;
      demands_.insert(ref);
      buckets_[ref] = elements_.Of(id) / elements_.OfSource(ref.source);
      if (ref.source > 0) VisitSubquery(ref, depth + 1);
      VariableQuantile(DemandAt(domain_, ref), node.inputs);
    }
    for (const NodeId input : node.inputs) Visit(input, interval, depth);
  }

  // A φ that changes between ticks requires a sort of the whole window. The plan does not show
  // whether φ changes, so each read is counted as a search.
  void VariableQuantile(const Demand& demand, const std::vector<NodeId>& arguments) {
    if (demand.function != WindowFunction::kQuantile || arguments.empty()) return;
    const Node& quantile = domain_.nodes[arguments[0].index()];
    if (quantile.As<Number>() == nullptr && quantile.As<ParameterValue>() == nullptr)
      cost_->rescans = true;
  }

  void VisitSubquery(DemandRef ref, int depth) {
    const uint32_t index = ref.source - 1;
    const Subquery& subquery = domain_.subqueries[index];
    const Demand& window = subquery.demands.demands[ref.demand];
    SubqueryCost& cost = subqueries_[index];
    cost.index = index;
    cost.depth = std::max(cost.depth, depth);
    cost.evaluations = std::max(cost.evaluations, static_cast<double>(window.range) /
                                                      static_cast<double>(subquery.step.ns()));
    cost.evaluations_per_tick =
        static_cast<double>(rule_interval_.ns()) / static_cast<double>(subquery.step.ns());
    const double outer = std::exchange(nodes_, 0);
    Visit(subquery.expr, subquery.step, depth);
    cost.ns_per_second += nodes_ / Seconds(subquery.step);
    nodes_ = outer;
  }

  WindowCost Window(DemandRef ref) {
    const Demand& demand = DemandAt(domain_, ref);
    WindowCost cost;
    cost.ref = ref;
    cost.shape = CostOf(demand);
    const Duration apart = ref.source > 0               ? domain_.subqueries[ref.source - 1].step
                           : domain_.demands.clock.step ? kStepLength
                                                        : options_.sample_interval;
    const double range = static_cast<double>(demand.range);
    cost.samples = demand.kind == WindowKind::kSamples || demand.kind == WindowKind::kFirst ? range
                   : demand.kind == WindowKind::kTime ? range / static_cast<double>(apart.ns())
                                                      : 1;
    const WindowState state = WindowStateOf(demand.kind, demand.function);
    // A window that keeps all samples stores no other state.
    if (KeepsSamples(state))
      cost.samples = std::min(cost.samples, static_cast<double>(kMaxKeptSamples));
    const double held =
        cost.samples + static_cast<double>(demand.offset) / static_cast<double>(apart.ns());
    cost.state_bytes = WindowStateBytes(state, static_cast<double>(cost.shape.panes), held);
    const WindowWork work = WorkOf(demand, state);
    const auto buckets = buckets_.find(ref);
    const double more = buckets == buckets_.end() ? 0 : buckets->second - 1;
    const Duration interval = Duration::Nanos(std::max<int64_t>(demand.interval, 1));
    cost.ns_per_second =
        work.sample / Seconds(apart) + (work.read + work.walk * cost.samples +
                                        PairsWork(demand, cost.samples) + kBucketWork * more) /
                                           Seconds(interval);
    cost.state_bytes += kBucketBytes * more;
    // Each element of a subquery is a separate series in the subquery's windows.
    const double series = elements_.OfSource(ref.source);
    cost.ns_per_second *= series;
    cost.state_bytes *= series;
    return cost;
  }

  const DomainPlan& domain_;
  const CostOptions& options_;
  const Duration rule_interval_;
  RuleCost* cost_;
  double nodes_ = 0;
  double results_ = 0;
  ElementCount elements_;
  LabelGrowth labels_;
  std::set<uint32_t> named_;             // nodes whose labels were already counted
  std::map<DemandRef, double> buckets_;  // number of values per series of a window
  std::set<std::pair<uint32_t, Duration>> seen_;
  std::set<DemandRef> demands_;
  std::map<uint32_t, SubqueryCost> subqueries_;
};

RuleCost CostOfRule(const DomainPlan& domain, const Group& group, const Rule& rule,
                    const CostOptions& options) {
  RuleCost cost;
  cost.rule = &rule;
  cost.group = &group;
  RuleWalk walk(domain, options, group.interval, &cost);
  for (const NodeId root : RootsOf(rule)) walk.Add(root);
  for (const Need& need : rule.needs) walk.AddDemand({0, need.demand});
  walk.Finish();
  return cost;
}

// Adds up the costs of rules, and counts shared parts once.
class Sum {
 public:
  void Add(const DomainPlan& domain, const RuleCost& rule, const CostOptions& options,
           TotalCost* total) {
    const auto series = static_cast<double>(options.series);
    const auto work = [&](double ns_per_second) {
      if (domain.demands.clock.step) {
        total->ns_per_step += ns_per_second * series;
      } else {
        total->cores += ns_per_second * series / 1e9;
      }
    };
    ++total->rules;
    work(rule.expression_ns_per_second);
    double windows = 0;
    for (const WindowCost& window : rule.windows) {
      windows += window.state_bytes;
      if (!windows_.insert({rule.domain, window.ref}).second) continue;
      ++total->windows;
      total->state_bytes += window.state_bytes * series;
      work(window.ns_per_second);
    }
    for (const SubqueryCost& subquery : rule.subqueries) {
      if (subqueries_.insert({rule.domain, subquery.index}).second) work(subquery.ns_per_second);
    }
    total->state_bytes += (rule.state_bytes - windows) * series;
  }

 private:
  std::set<std::pair<uint32_t, DemandRef>> windows_;
  std::set<std::pair<uint32_t, uint32_t>> subqueries_;
};

}  // namespace

std::string FormatNanos(double nanos) {
  constexpr std::array<std::string_view, 4> kNames = {"ns", "us", "ms", "s"};
  return FormatScaled(nanos, 1000, kNames);
}

std::string_view CostClassName(CostClass cost_class) {
  switch (cost_class) {
    case CostClass::kIncremental:
      return "incremental";
    case CostClass::kRescan:
      return "rescan";
    case CostClass::kDynamicLabels:
      return "dynamic labels";
  }
  return "";
}

DemandCost CostOf(const Demand& demand) {
  DemandCost cost;
  const WindowState state = WindowStateOf(demand.kind, demand.function);
  cost.family = state.family;
  cost.keeps_samples = KeepsSamples(state);
  if (demand.kind == WindowKind::kFirst) {
    // A full, frozen window is read only once, but a value extrapolated to the tick changes each
    // time.
    cost.rescans = demand.function == WindowFunction::kIntercept;
    return cost;
  }
  cost.rescans =
      state.storage == WindowStorage::kSorted || state.storage == WindowStorage::kSamples;
  if (state.storage == WindowStorage::kStates) return cost;  // the window has no panes
  if (demand.interval > 0 && (demand.kind == WindowKind::kTime ||
                              (demand.kind == WindowKind::kInstant && demand.offset > 0))) {
    const WindowShape shape = ShapeOf(demand, Position());
    cost.pane = shape.grid.length;
    cost.panes = shape.panes.Reach();
    cost.paired = shape.grid.cut != Duration::Zero();
  }
  return cost;
}

ProgramCost EstimateCost(const Program& program, const CostOptions& options) {
  ProgramCost out;
  out.options = options;
  Sum all;
  std::map<std::string, std::pair<Sum, TotalCost>> files;
  for (uint32_t s = 0; s < program.domains.size(); ++s) {
    const DomainPlan& domain = program.domains[s];
    for (const Group& group : domain.groups) {
      for (const Rule& rule : group.rules) {
        RuleCost cost = CostOfRule(domain, group, rule, options);
        cost.domain = s;
        all.Add(domain, cost, options, &out.total);
        auto& [sum, total] = files[rule.file];
        sum.Add(domain, cost, options, &total);
        out.rules.push_back(std::move(cost));
      }
    }
  }
  for (auto& [file, entry] : files) {
    entry.second.file = file;
    out.files.push_back(std::move(entry.second));
  }
  return out;
}

}  // namespace pitwall::plan
