#include "rules/check/label_flow.h"

#include <algorithm>
#include <vector>

#include "rules/check/types.h"
#include "services/base/text/strings.h"
#include "services/model/labels.h"

namespace pitwall::check {
namespace {

using lang::Expr;

bool IsIn(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

LabelFlow None() {
  LabelFlow out;
  out.closed = true;
  return out;
}

LabelFlow OfSelector(const ExprContext& context, const lang::SelectorExpr& selector) {
  LabelFlow out;
  const std::string_view name = MetricNameOf(selector);
  const MetricInfo* metric = context.options.catalog->Find(name);
  if (metric != nullptr && metric->name == name && !context.recorded.contains(name))
    out.sure.insert(metric->labels.begin(), metric->labels.end());
  for (const lang::LabelMatcher& matcher : selector.matchers) {
    if (matcher.op != MatchOp::kEqual || matcher.label == kMetricName) continue;
    if (matcher.value.empty()) {
      out.Remove(matcher.label);
    } else {
      out.sure.insert(matcher.label);
    }
  }
  return out;
}

LabelFlow OfAbsent(const Expr& argument) {
  LabelFlow out = None();
  if (const auto* selector = lang::Unwrap(argument).As<lang::SelectorExpr>()) {
    for (const lang::LabelMatcher& matcher : selector->matchers) {
      if (matcher.op == MatchOp::kEqual && matcher.label != kMetricName) out.Add(matcher.label);
    }
  }
  out.sure.clear();
  return out;
}

LabelFlow OfAggregate(const ExprContext& context, const lang::AggregateExpr& aggregate) {
  LabelFlow inner = LabelsOf(context, *aggregate.expr);
  switch (aggregate.op) {
    case AggregateOp::kTopk:
    case AggregateOp::kBottomk:
    case AggregateOp::kLimitk:
    case AggregateOp::kLimitRatio:
      return inner;
    default:
      break;
  }
  LabelFlow out;
  if (aggregate.grouping == lang::Grouping::kWithout) {
    out = std::move(inner);
    for (const std::string& label : aggregate.labels) out.Remove(label);
  } else {
    out = None();
    for (const std::string& label : aggregate.labels) {
      if (label == kMetricName || !inner.MayHave(label)) continue;
      out.Add(label);
    }
  }
  if (aggregate.op == AggregateOp::kCountValues && aggregate.parameter != nullptr) {
    if (const auto* label = lang::Unwrap(*aggregate.parameter).As<lang::StringExpr>())
      out.Add(label->value);
  }
  return out;
}

const std::string* TextArgument(const lang::CallExpr& call, size_t index) {
  if (index >= call.arguments.size()) return nullptr;
  const auto* text = lang::Unwrap(*call.arguments[index]).As<lang::StringExpr>();
  return text == nullptr ? nullptr : &text->value;
}

LabelFlow OfCall(const ExprContext& context, const lang::CallExpr& call) {
  const std::string_view name = call.function;
  if (name == "absent" || name == "absent_over_time") return OfAbsent(*call.arguments[0]);
  LabelFlow out = None();
  for (const lang::ExprPtr& argument : call.arguments) {
    const Type type = TypeOf(*argument);
    if (type == Type::kVector || type == Type::kMatrix) out = LabelsOf(context, *argument);
  }
  if (name == "vector" || name == "scalar") return None();
  if (name == "label_replace" || name == "label_join") {
    if (const std::string* label = TextArgument(call, 1)) {
      out.Add(*label);
      out.sure.erase(*label);  // the replacement may be an empty string
    }
  }
  const FunctionRow* function = FindFunction(name);
  const Buckets buckets = function == nullptr ? Buckets::kKeeps : function->buckets;
  if (buckets == Buckets::kMakes) {
    out.Add("le");
  } else if (buckets == Buckets::kTakes) {
    out.Remove("le");
    if (const std::string* label = TextArgument(call, 1); label && name == "histogram_quantiles")
      out.Add(*label);
  }
  return out;
}

LabelFlow OfBinary(const ExprContext& context, const lang::BinaryExpr& binary) {
  const bool left_vector = TypeOf(*binary.left) == Type::kVector;
  const bool right_vector = TypeOf(*binary.right) == Type::kVector;
  if (!left_vector && !right_vector) return None();
  if (!right_vector) return LabelsOf(context, *binary.left);
  LabelFlow right = LabelsOf(context, *binary.right);
  if (!left_vector) return right;
  LabelFlow left = LabelsOf(context, *binary.left);
  if (binary.op == BinaryOp::kOr) {
    LabelFlow out;
    out.closed = left.closed && right.closed;
    // If both sides are open, `names` contains the labels that neither side can have.
    std::set<std::string, std::less<>> all = left.names;
    all.insert(right.names.begin(), right.names.end());
    for (const std::string& label : all) {
      if (out.closed == (left.MayHave(label) || right.MayHave(label))) out.names.insert(label);
    }
    for (const std::string& label : left.sure) {
      if (right.sure.contains(label)) out.sure.insert(label);
    }
    return out;
  }
  if (IsSetOp(binary.op)) return left;
  const lang::VectorMatching& matching = binary.matching;
  if (matching.group != lang::GroupSide::kNone) {
    LabelFlow many = matching.group == lang::GroupSide::kLeft ? std::move(left) : std::move(right);
    for (const std::string& label : matching.include) {
      const bool sure = many.sure.contains(label);
      many.Add(label);
      if (!sure) many.sure.erase(label);
    }
    return many;
  }
  if (matching.on) {
    LabelFlow out = None();
    for (const std::string& label : matching.labels) {
      if (label != kMetricName && left.MayHave(label)) out.Add(label);
    }
    return out;
  }
  for (const std::string& label : matching.labels) left.Remove(label);
  return left;
}

void CheckBinary(const ExprContext& context, const lang::BinaryExpr& binary) {
  if (binary.op == BinaryOp::kOr || TypeOf(*binary.left) != Type::kVector ||
      TypeOf(*binary.right) != Type::kVector) {
    return;
  }
  const lang::VectorMatching& matching = binary.matching;
  if (!matching.on && matching.include.empty()) return;
  const LabelFlow left = LabelsOf(context, *binary.left);
  const LabelFlow right = LabelsOf(context, *binary.right);
  for (const std::string& label : matching.labels) {
    if (!matching.on || label == kMetricName) continue;
    const bool on_left = left.MayHave(label);
    const bool on_right = right.MayHave(label);
    if (on_left && on_right) continue;
    context.Add(lang::Severity::kWarning, binary.op_span,
                Cat("on(", label, "): ",
                    on_left    ? "the right side has no label "
                    : on_right ? "the left side has no label "
                               : "neither side has a label ",
                    Quote(label), ", it has been aggregated away"));
  }
  const LabelFlow& one = matching.group == lang::GroupSide::kLeft ? right : left;
  for (const std::string& label : matching.include) {
    if (one.MayHave(label) || label == kMetricName) continue;
    context.Add(lang::Severity::kWarning, binary.op_span,
                Cat("label ", Quote(label),
                    " cannot be copied from the other side: it has been aggregated away there"));
  }
}

}  // namespace

void LabelFlow::Add(std::string_view label) {
  if (closed) {
    names.emplace(label);
  } else if (const auto found = names.find(label); found != names.end()) {
    names.erase(found);
  }
  sure.emplace(label);
}

void LabelFlow::Remove(std::string_view label) {
  if (!closed) {
    names.emplace(label);
  } else if (const auto found = names.find(label); found != names.end()) {
    names.erase(found);
  }
  if (const auto found = sure.find(label); found != sure.end()) sure.erase(found);
}

LabelFlow LabelsOf(const ExprContext& context, const Expr& expr) {
  if (const auto* selector = expr.As<lang::SelectorExpr>()) return OfSelector(context, *selector);
  if (const auto* aggregate = expr.As<lang::AggregateExpr>())
    return OfAggregate(context, *aggregate);
  if (const auto* call = expr.As<lang::CallExpr>()) return OfCall(context, *call);
  if (const auto* binary = expr.As<lang::BinaryExpr>()) return OfBinary(context, *binary);
  if (const auto* paren = expr.As<lang::ParenExpr>()) return LabelsOf(context, *paren->expr);
  if (const auto* unary = expr.As<lang::UnaryExpr>()) return LabelsOf(context, *unary->expr);
  if (const auto* subquery = expr.As<lang::SubqueryExpr>())
    return LabelsOf(context, *subquery->expr);
  return None();
}

std::string NeverMatches(const lang::BinaryExpr& binary, const LabelFlow& left,
                         const LabelFlow& right) {
  if (binary.matching.on || binary.op == BinaryOp::kOr) return {};
  const auto missing = [&](const LabelFlow& has, const LabelFlow& other) -> const std::string* {
    for (const std::string& label : has.sure) {
      if (!IsIn(binary.matching.labels, label) && !other.MayHave(label)) return &label;
    }
    return nullptr;
  };
  const auto text = [](const std::string& label, std::string_view has, std::string_view lacking) {
    return Cat("all labels must be equal, and the ", has, " side has a label ", Quote(label),
               " that the ", lacking, " side cannot have: add on(…) or ignoring(…)");
  };
  if (const std::string* label = missing(left, right)) return text(*label, "left", "right");
  if (const std::string* label = missing(right, left)) return text(*label, "right", "left");
  return {};
}

void CheckLabels(const ExprContext& context, const Expr& root) {
  lang::Visit(root, [&](const Expr& expr) {
    if (const auto* binary = expr.As<lang::BinaryExpr>()) CheckBinary(context, *binary);
    const auto* aggregate = expr.As<lang::AggregateExpr>();
    if (aggregate == nullptr || aggregate->grouping != lang::Grouping::kBy) return;
    const LabelFlow inner = LabelsOf(context, *aggregate->expr);
    for (const std::string& label : aggregate->labels) {
      if (label == kMetricName || inner.MayHave(label)) continue;
      context.Add(lang::Severity::kWarning, aggregate->op_span,
                  Cat("by (", label, "): the inner expression has no label ", Quote(label),
                      ", it has been aggregated away"));
    }
  });
}

}  // namespace pitwall::check
