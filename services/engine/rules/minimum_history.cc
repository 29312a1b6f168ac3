#include "services/engine/rules/minimum_history.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "services/model/position.h"
#include "services/model/windows/demand.h"

namespace pitwall::engine {

namespace {

// Skips min and max aggregations, which do not change the meaning of a condition.
const plan::Node& WithoutExtremes(const plan::DomainPlan& domain, plan::NodeId id) {
  const plan::Node* node = &domain.nodes[id.index()];
  const auto is_extreme = [](const plan::Aggregation* aggregation) {
    return aggregation != nullptr &&
           (aggregation->op == AggregateOp::kMin || aggregation->op == AggregateOp::kMax);
  };
  while (is_extreme(node->As<plan::Aggregation>())) node = &domain.nodes[node->inputs[0].index()];
  return *node;
}

bool IsBinary(const plan::Node& node, BinaryOp op) {
  const auto* binary = node.As<plan::BinaryOperation>();
  return binary != nullptr && binary->op == op;
}

const Demand* DemandOf(const plan::DomainPlan& domain, const plan::Node& node) {
  const auto* column = node.As<plan::DemandColumn>();
  return column == nullptr ? nullptr : &plan::DemandAt(domain, column->ref);
}

// Returns the demand of count_over_time(x[…]), or null.
const Demand* CountIn(const plan::DomainPlan& domain, plan::NodeId id) {
  const Demand* demand = DemandOf(domain, WithoutExtremes(domain, id));
  return demand != nullptr && demand->kind != WindowKind::kInstant &&
                 demand->function == WindowFunction::kCount
             ? demand
             : nullptr;
}

// Matches time() - ts_of_first_over_time(x[attempt]).
bool IsAge(const plan::DomainPlan& domain, plan::NodeId id) {
  const plan::Node& node = WithoutExtremes(domain, id);
  if (!IsBinary(node, BinaryOp::kSub)) return false;
  if (domain.nodes[node.inputs[0].index()].As<plan::EvaluationTime>() == nullptr) return false;
  const Demand* demand = DemandOf(domain, WithoutExtremes(domain, node.inputs[1]));
  return demand != nullptr && demand->kind == WindowKind::kAttempt &&
         demand->function == WindowFunction::kTsOfFirst;
}

// Matches (ts_of_last_over_time(x[N samples]) - ts_of_first_over_time(x[N samples])) /
// (count_over_time(x[N samples]) - 1).
bool IsDistance(const plan::DomainPlan& domain, plan::NodeId id) {
  const plan::Node& node = WithoutExtremes(domain, id);
  if (!IsBinary(node, BinaryOp::kDiv)) return false;
  const plan::Node& length = WithoutExtremes(domain, node.inputs[0]);
  const plan::Node& intervals = WithoutExtremes(domain, node.inputs[1]);
  for (const plan::Node* part : {&length, &intervals}) {
    if (!IsBinary(*part, BinaryOp::kSub)) return false;
  }
  const Demand* last = DemandOf(domain, WithoutExtremes(domain, length.inputs[0]));
  const Demand* first = DemandOf(domain, WithoutExtremes(domain, length.inputs[1]));
  return last != nullptr && last->kind == WindowKind::kSamples && first != nullptr &&
         last->function == WindowFunction::kTsOfLast &&
         first->function == WindowFunction::kTsOfFirst &&
         CountIn(domain, intervals.inputs[0]) != nullptr;
}

// Returns the priority of a gate. Conditions that waiting cannot satisfy come first.
int Rank(HistoryGate::For what) {
  return what == HistoryGate::For::kNearer ? 0 : what == HistoryGate::For::kSamples ? 1 : 2;
}

bool MissesMore(const HistoryGate& a, const HistoryGate& b) {
  if (!b.waits()) return true;
  if (a.what != b.what) return Rank(a.what) < Rank(b.what);
  if (a.what == HistoryGate::For::kAge) return a.until > b.until;
  if (a.what == HistoryGate::For::kNearer) return a.has - a.wants > b.has - b.wants;
  return a.wants - a.has > b.wants - b.has;
}

}  // namespace

void HistoryGate::Save(BinaryWriter& out) const {
  out.U8(static_cast<uint8_t>(what));
  out.Double(has);
  out.Double(wants);
  out.I64(until.ns());
}

void HistoryGate::Restore(BinaryReader& in) {
  const uint8_t kind = in.U8();
  if (kind > static_cast<uint8_t>(For::kNearer)) in.Fail();
  what = static_cast<For>(kind);
  has = in.Double();
  wants = in.Double();
  until = Position::FromNs(in.I64());
}

History::History(const plan::DomainPlan& domain, const plan::Rule& rule) {
  if (rule.kind == plan::RuleKind::kAlert && rule.expr != plan::kNoNode)
    root_ = Find(domain, rule.expr, /*finding=*/true);
  begins_with_attempt_ = begins_with_attempt_ && root_ != kNone;
}

uint32_t History::Add(Condition condition) {
  conditions_.push_back(std::move(condition));
  return static_cast<uint32_t>(conditions_.size() - 1);
}

uint32_t History::Find(const plan::DomainPlan& domain, plan::NodeId id, bool finding) {
  const plan::Node& node = domain.nodes[id.index()];
  if (node.type != plan::ValueType::kVector || node.As<plan::DemandColumn>() != nullptr)
    return kNone;
  if (const auto* binary = node.As<plan::BinaryOperation>();
      binary != nullptr && IsComparison(binary->op) && !binary->return_bool && !finding) {
    using enum BinaryOp;
    const BinaryOp op = binary->op;
    const bool above = op == kGt || op == kGe;
    const bool below = op == kLt || op == kLe;
    Condition condition{.value = node.inputs[above ? 0 : 1],
                        .limit = node.inputs[above ? 1 : 0],
                        .or_equal = op == kGe || op == kLe};
    if ((above || below) &&
        domain.nodes[condition.limit.index()].type == plan::ValueType::kScalar) {
      const Demand* count = CountIn(domain, condition.value);
      if (count != nullptr || IsAge(domain, condition.value)) {
        const bool of_attempt = count == nullptr || count->kind == WindowKind::kAttempt ||
                                count->kind == WindowKind::kFirst;
        begins_with_attempt_ |= of_attempt || domain.demands.clock.step;
        condition.kind = count != nullptr ? Condition::Kind::kSamples : Condition::Kind::kAge;
        return Add(std::move(condition));
      }
    }
    Condition nearer{.kind = Condition::Kind::kNearer,
                     .value = node.inputs[below ? 0 : 1],
                     .limit = node.inputs[below ? 1 : 0],
                     .or_equal = condition.or_equal};
    if ((above || below) && domain.nodes[nearer.limit.index()].type == plan::ValueType::kScalar &&
        IsDistance(domain, nearer.value))
      return Add(std::move(nearer));
  }
  Condition condition{.kind = Condition::Kind::kAny};
  const auto* set = node.As<plan::SetOperation>();
  const bool is_or = set != nullptr && set->op == plan::SetOp::kOr;
  if (is_or) condition.kind = Condition::Kind::kAll;
  const bool is_unless = set != nullptr && set->op == plan::SetOp::kUnless;
  // The right side of `and` and `unless` is a condition, never the subject of the rule.
  const bool left_only = set != nullptr && !is_or;
  for (size_t i = 0; i < (is_unless ? 1 : node.inputs.size()); ++i) {
    const uint32_t part = Find(domain, node.inputs[i], finding && (i == 0 || !left_only));
    if (part != kNone) {
      condition.parts.push_back(part);
    } else if (is_or) {
      return kNone;  // This side never waits.
    }
  }
  if (condition.parts.empty()) return kNone;
  if (condition.parts.size() == 1) return condition.parts[0];
  return Add(std::move(condition));
}

HistoryGate History::At(eval::Evaluator* evaluator, Position position) const {
  return root_ == kNone ? HistoryGate() : Judge(root_, evaluator, position);
}

HistoryGate History::Judge(uint32_t index, eval::Evaluator* evaluator, Position position) const {
  const Condition& condition = conditions_[index];
  if (!condition.parts.empty()) {
    HistoryGate most;
    for (const uint32_t part : condition.parts) {
      const HistoryGate wait = Judge(part, evaluator, position);
      if (!wait.waits() && condition.kind == Condition::Kind::kAll) return {};
      if (wait.waits() && MissesMore(wait, most)) most = wait;
    }
    return most;
  }
  const auto limit = evaluator->Evaluate(condition.limit);
  if (!limit.ok()) return {};
  const double wants = (*limit)->scalar();
  const auto value = evaluator->Evaluate(condition.value);
  if (!value.ok() || !std::isfinite(wants)) return {};
  if (condition.kind == Condition::Kind::kNearer) {
    std::optional<double> least;
    for (size_t i = 0; i < (*value)->size(); ++i) {
      const double has = (*value)->values[i];
      if ((*value)->present[i] && !std::isnan(has)) least = std::min(has, least.value_or(has));
    }
    if (!least.has_value() || (condition.or_equal ? *least <= wants : *least < wants)) return {};
    return {.what = HistoryGate::For::kNearer, .has = *least, .wants = wants};
  }
  std::optional<double> most;
  for (size_t i = 0; i < (*value)->size(); ++i) {
    const double has = (*value)->values[i];
    if (!(*value)->present[i] || std::isnan(has)) continue;
    if (condition.or_equal ? has >= wants : has > wants) return {};
    most = std::max(has, most.value_or(has));
  }
  if (!most.has_value()) return {};
  if (condition.kind == Condition::Kind::kSamples) {
    return {.what = HistoryGate::For::kSamples,
            .has = *most,
            .wants = condition.or_equal ? std::ceil(wants) : std::floor(wants) + 1};
  }
  const double left = std::min((wants - *most) * static_cast<double>(kStepUnit), 1e18);
  return {.what = HistoryGate::For::kAge,
          .until = position + Duration::Nanos(static_cast<int64_t>(std::ceil(left)))};
}

}  // namespace pitwall::engine
