#include "rules/eval/evaluator.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {

using plan::ValueType;

namespace {

// Units of work (WorkMeter) per element.
constexpr size_t kBindWork = 100;
constexpr size_t kRunWork = 4;
constexpr size_t kShownBytes = 60;  // maximum length of an expression in an error message

// Returns true if the operation computes label sets, instead of only dropping or keeping labels.
bool ComputesLabels(const plan::DomainPlan& domain, const plan::Node& node) {
  if (const auto* column = node.As<plan::DemandColumn>())
    return plan::DemandAt(domain, column->ref).function == WindowFunction::kHistogram;
  if (const auto* binary = node.As<plan::BinaryOperation>())
    return !binary->matching.include.empty();
  if (const auto* aggregation = node.As<plan::Aggregation>())
    return aggregation->op == AggregateOp::kCountValues;
  const auto* call = node.As<plan::FunctionCall>();
  return call != nullptr && (call->function == plan::FunctionId::kLabelReplace ||
                             call->function == plan::FunctionId::kLabelJoin ||
                             call->function == plan::FunctionId::kHistogramQuantiles);
}

// Visitor that creates a node's operator from its operation.
class OperatorMaker {
 public:
  OperatorMaker(const plan::Node& node, const plan::DomainPlan& domain, LabelTable* table)
      : node_(node), domain_(domain), table_(table) {}

  using Result = std::unique_ptr<Operator>;
  Result operator()(const plan::Number& number) const { return MakeScalar(number); }
  Result operator()(const plan::ParameterValue& parameter) const { return MakeScalar(parameter); }
  Result operator()(const plan::EvaluationTime& time) const { return MakeScalar(time); }
  Result operator()(const plan::DemandColumn&) const { return MakeDemand(node_, domain_); }
  Result operator()(const plan::Negation& negation) const {
    return node_.type == ValueType::kVector ? MakeMap(node_, 0) : MakeScalar(negation);
  }
  Result operator()(const plan::BinaryOperation& binary) const {
    if (node_.type != ValueType::kVector) return MakeScalar(binary);
    if (IsVector(0) && IsVector(1)) return MakeMatch(binary, table_);
    const size_t vector = IsVector(0) ? 0 : 1;
    if (IsComparison(binary.op) && !binary.return_bool) return MakeFilter(binary, vector);
    return MakeMap(node_, vector);
  }
  Result operator()(const plan::SetOperation& set) const { return MakeSetOp(set, table_); }
  Result operator()(const plan::Aggregation& aggregation) const {
    if (aggregation.op == AggregateOp::kCountValues) return MakeCountValues(aggregation, table_);
    return aggregation.op >= AggregateOp::kTopk ? MakeSelect(aggregation, table_)
                                                : MakeAggregate(aggregation, table_);
  }
  Result operator()(const plan::FunctionCall& call) const {
    switch (call.function) {
      case plan::FunctionId::kScalar:
      case plan::FunctionId::kVector:
      case plan::FunctionId::kAbsent:
        return MakeReshape(call);
      case plan::FunctionId::kMaxOf:
      case plan::FunctionId::kMinOf:
        return MakeScalar(call);
      case plan::FunctionId::kLabelReplace:
      case plan::FunctionId::kLabelJoin:
        return MakeRelabel(call);
      case plan::FunctionId::kHistogramQuantile:
      case plan::FunctionId::kHistogramFraction:
      case plan::FunctionId::kHistogramQuantiles:
        return MakeHistogram(call, table_);
      case plan::FunctionId::kHistogramDistance:
        return MakeHistogramDistance(table_);
      case plan::FunctionId::kPeerHistograms:
        return MakePeerHistograms(call, table_);
      case plan::FunctionId::kPeerScore:
        return MakePeerScore(call, table_);
      case plan::FunctionId::kPeerRatio:
        return MakePeerRatio(call, table_);
      case plan::FunctionId::kBaselineScore:
        return MakeBaselineScore();
#define PITWALL_FUNCTION_OF_EACH(id, ...) case plan::FunctionId::id:
#include "services/model/windows/functions.inc"
        return MakeMap(node_, 0);
    }
    return MakeScalar(call);
  }

 private:
  bool IsVector(size_t input) const {
    return domain_.nodes[node_.inputs[input].index()].type == ValueType::kVector;
  }

  const plan::Node& node_;
  const plan::DomainPlan& domain_;
  LabelTable* const table_;
};

}  // namespace

class Evaluator::Impl {
 public:
  Impl(plan::ProgramPtr program, size_t domain, EvaluatorOptions options)
      : program_(std::move(program)), domain_(program_->domains.at(domain)) {
    context_.table = table_.get();
    context_.parameters = &parameters_;
    context_.selectors = &selectors_;
    context_.max_elements = options.max_elements;
    context_.labels = options.labels;
    context_.meter = options.meter;
    max_held_bytes_ = options.max_held_bytes;
    SetParameters({});
    selectors_.resize(domain_.subqueries.size() + 1);
    for (uint32_t source = 0; source < selectors_.size(); ++source) {
      for (size_t i = 0; i < plan::DemandsOf(domain_, source).selectors.size(); ++i)
        selectors_[source].push_back(std::make_unique<SelectorBinding>());
    }
    states_.resize(domain_.nodes.size());
    for (size_t i = 0; i < domain_.nodes.size(); ++i) {
      const plan::Node& node = domain_.nodes[i];
      State& state = states_[i];
      state.result.type = node.type;
      state.bound.assign(node.inputs.size(), 0);
      for (const plan::NodeId input : node.inputs) PITWALL_CHECK(input.index() < i);
      state.op = std::visit(OperatorMaker(node, domain_, table_.get()), node.operation);
      state.naming = NamingBelow(i);
    }
  }

  void SetParameters(std::vector<double> values) {
    parameters_ = std::move(values);
    parameters_.resize(std::min(parameters_.size(), domain_.parameters.size()));
    for (size_t i = parameters_.size(); i < domain_.parameters.size(); ++i) {
      parameters_.push_back(domain_.parameters[i].value);
    }
    Changed();
  }
  const std::vector<double>& parameters() const { return parameters_; }

  void Begin(int64_t tick, ColumnView* view, std::span<ColumnView* const> subqueries) {
    context_.tick = tick;
    context_.views.assign(1, view);
    context_.views.insert(context_.views.end(), subqueries.begin(), subqueries.end());
    PITWALL_CHECK(context_.views.size() == selectors_.size());
    Changed();
    if (table_->WantsCollect()) {
      std::vector<std::span<const LabelId>> roots;
      for (const auto& source : selectors_) {
        for (const auto& selector : source) roots.push_back(selector->ids);
      }
      table_->Collect(roots);
    }
  }

  void Changed() { ++serial_; }

  StatusOr<const Vector*> Evaluate(plan::NodeId id) {
    PITWALL_CHECK(id.index() < states_.size());
    const State& state = states_[id.index()];
    if (state.serial != serial_) Compute(id.index());
    if (!state.status.ok()) return state.status;
    return &state.result;
  }

  size_t MemoryBytes() const {
    size_t bytes = table_->MemoryBytes() + states_.capacity() * sizeof(State);
    for (const State& state : states_) bytes += state.op->MemoryBytes();
    for (const auto& source : selectors_) {
      for (const auto& s : source) {
        bytes += sizeof(SelectorBinding) + s->pointers.capacity() * 8 + s->ids.capacity() * 4 +
                 s->named.rename.MemoryBytes() + s->nameless.rename.MemoryBytes();
      }
    }
    return bytes;
  }
  uint64_t binds() const { return binds_; }

 private:
  struct State {
    std::unique_ptr<Operator> op;
    Vector result;
    Status status;
    uint64_t serial = 0;  // serial number of the evaluation that computed result and status
    bool ever_bound = false;
    std::vector<uint64_t> bound;  // input bindings at the last Bind
    Status bind_status;
    size_t held_bytes = 0;         // bytes held by the operator; set only if there is a limit
    std::vector<uint32_t> naming;  // this node and the inputs that compute label sets
  };

  std::vector<uint32_t> NamingBelow(size_t index) const {
    const plan::Node& node = domain_.nodes[index];
    std::vector<uint32_t> out;
    for (const plan::NodeId input : node.inputs) {
      const std::vector<uint32_t>& more = states_[input.index()].naming;
      out.insert(out.end(), more.begin(), more.end());
    }
    if (ComputesLabels(domain_, node)) out.push_back(static_cast<uint32_t>(index));
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // Each operator checks its own limit. This check covers the entire expression.
  Status CheckLabels(const State& state) const {
    if (state.naming.size() < 2) return OkStatus();
    size_t bytes = 0;
    for (const uint32_t index : state.naming) bytes += states_[index].op->LabelBytes();
    if (bytes <= context_.labels.evaluation) return OkStatus();
    const std::string_view text = domain_.nodes[state.naming.back()].text;
    return TooManyLabelBytes(text.substr(0, kShownBytes), context_.labels.evaluation);
  }

  Status CheckHeld(State* state) {
    held_bytes_ -= state->held_bytes;
    state->held_bytes = state->op->MemoryBytes();
    held_bytes_ += state->held_bytes;
    if (held_bytes_ + table_->LabelBytes() <= max_held_bytes_) return OkStatus();
    return ResourceExhausted(Cat("the query needs more than ", max_held_bytes_,
                                 " bytes for results and label sets; select fewer series or use a "
                                 "shorter expression"));
  }

  void Compute(size_t index) {
    State& state = states_[index];
    state.serial = serial_;
    const plan::Node& node = domain_.nodes[index];
    absl::InlinedVector<const Vector*, 4> inputs;
    for (const plan::NodeId id : node.inputs) {
      const State& input = states_[id.index()];
      if (input.serial != serial_) Compute(id.index());
      if (!input.status.ok()) {
        state.status = input.status;
        return;
      }
      inputs.push_back(&input.result);
    }
    bool bind = !state.ever_bound;
    size_t elements = 1;
    for (size_t k = 0; k < inputs.size(); ++k) {
      bind |= state.bound[k] != inputs[k]->binding;
      elements += inputs[k]->size();
    }
    state.status = context_.Work(elements * (bind ? kBindWork : kRunWork));
    if (!state.status.ok()) return;
    if (bind) {
      state.bind_status = state.op->Bind(context_, inputs);
      state.ever_bound = true;
      for (size_t k = 0; k < inputs.size(); ++k) state.bound[k] = inputs[k]->binding;
      ++binds_;
    }
    // A failed binding is retried only after its inputs change, not at each tick.
    state.status = state.bind_status;
    if (!state.status.ok()) return;
    state.status = state.op->Run(context_, inputs, &state.result);
    if (state.status.ok()) state.status = CheckLabels(state);
    if (state.status.ok() && max_held_bytes_ > 0) state.status = CheckHeld(&state);
    if (!state.status.ok()) return;
    const uint64_t binding = state.result.column->binding();
    if (state.result.binding != binding) {
      state.result.binding = binding;
      if (node.As<plan::DemandColumn>() != nullptr) ++binds_;
    }
  }

  const plan::ProgramPtr program_;
  const plan::DomainPlan& domain_;
  const std::shared_ptr<LabelTable> table_ = std::make_shared<LabelTable>();
  std::vector<std::vector<std::unique_ptr<SelectorBinding>>> selectors_;  // indexed by source
  std::vector<double> parameters_;
  Context context_;
  std::vector<State> states_;
  size_t max_held_bytes_ = 0;
  size_t held_bytes_ = 0;  // total for all operators
  uint64_t serial_ = 1;
  uint64_t binds_ = 0;
};

Evaluator::Evaluator(plan::ProgramPtr program, size_t domain, EvaluatorOptions options)
    : impl_(std::make_unique<Impl>(std::move(program), domain, options)) {}
Evaluator::~Evaluator() = default;

void Evaluator::SetParameters(std::vector<double> values) {
  impl_->SetParameters(std::move(values));
}
const std::vector<double>& Evaluator::parameters() const { return impl_->parameters(); }
void Evaluator::Begin(int64_t tick, ColumnView* view, std::span<ColumnView* const> subqueries) {
  impl_->Begin(tick, view, subqueries);
}
void Evaluator::Changed() { impl_->Changed(); }
StatusOr<const Vector*> Evaluator::Evaluate(plan::NodeId node) { return impl_->Evaluate(node); }
size_t Evaluator::MemoryBytes() const { return impl_->MemoryBytes(); }
uint64_t Evaluator::binds() const { return impl_->binds(); }

}  // namespace pitwall::eval
