#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/file_text.h"
#include "services/model/issues/capture_pattern.h"
#include "services/model/windows/linear_bounds.h"

namespace pitwall::check {
namespace {

using lang::Expr;

void NotYet(const ExprContext& context, lang::Span span, std::string_view what) {
  context.diagnostics->Unsupported(context.source, span, Cat(what, " is not supported yet"));
}

const std::string* TextOf(const Expr& expr) {
  const auto* text = lang::Unwrap(expr).As<lang::StringExpr>();
  return text == nullptr ? nullptr : &text->value;
}

// As in Prometheus 3, any valid UTF-8 is accepted.
bool IsLabelName(std::string_view name) {
  return !name.empty() && yaml::FindInvalidUtf8(name) == std::string_view::npos;
}

// Prometheus reports these errors only during evaluation, even though they do not depend on data.
void CheckLabelNames(const ExprContext& context, const lang::CallExpr& call) {
  const bool replace = call.function == "label_replace";
  if (call.function == "histogram_quantiles") {
    const std::string* label = TextOf(*call.arguments[1]);
    if (label != nullptr && !IsLabelName(*label))
      context.Error(call.arguments[1]->span, "invalid label name in histogram_quantiles()");
  }
  if (!replace && call.function != "label_join") return;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string* text = TextOf(*call.arguments[i]);
    if (text == nullptr) continue;
    const bool destination = i == 1;
    if (!IsLabelName(*text) && (destination || (!replace && i > 2))) {
      context.Error(call.arguments[i]->span, Cat("invalid ", destination ? "destination" : "source",
                                                 " label name in ", call.function, "(): "));
    }
    if (replace && i == 4 && !CapturePattern::Make(*text).ok()) {
      context.Error(call.arguments[i]->span,
                    Cat("invalid regular expression in label_replace(): ", *text));
    }
  }
}

// Checks histogram_over_time. Its buckets are elements that are created when the rule is loaded.
void CheckBuckets(const ExprContext& context, const lang::CallExpr& call) {
  constexpr std::string_view kNames[] = {"first bound", "width", "count"};
  double numbers[3] = {};
  for (size_t k = 0; k < 3; ++k) {
    const Expr& argument = *call.arguments[k + 1];
    const std::optional<double> number = ConstantValue(argument);
    if (!number.has_value()) {
      context.Error(argument.span, Cat("the ", kNames[k],
                                       " of histogram_over_time() must be a number: its buckets "
                                       "are created when the rule is loaded"));
      return;
    }
    numbers[k] = *number;
  }
  const auto [first, width, count] = numbers;
  if (!std::isfinite(first)) {
    context.Error(
        call.arguments[1]->span,
        Cat("histogram_over_time() needs a finite first bound, found ", FormatDouble(first)));
  } else if (!(width > 0) || !std::isfinite(width)) {
    context.Error(call.arguments[2]->span,
                  Cat("histogram_over_time() needs a bucket width greater than 0, found ",
                      FormatDouble(width)));
  } else if (!(count >= 1 && count <= static_cast<double>(kMaxHistogramBounds)) ||
             count != std::floor(count)) {
    context.Error(call.arguments[3]->span,
                  Cat("histogram_over_time() needs an integer number of bounds from 1 to ",
                      kMaxHistogramBounds, ", found ", FormatDouble(count)));
  } else {
    const std::vector<double> bounds = LinearBounds(first, width, static_cast<size_t>(count));
    const bool rise =
        std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
    if (rise && std::isfinite(bounds.back())) return;
    context.Error(call.arguments[2]->span, Cat("bounds from ", FormatDouble(first), " in steps of ",
                                               FormatDouble(width), " are not different numbers"));
  }
}

// Returns a description such as "greater than 0" or "from 1 to 64".
std::string BoundText(const ArgumentBound& bound) {
  if (std::isfinite(bound.low) && std::isfinite(bound.high))
    return Cat("from ", FormatDouble(bound.low), " to ", FormatDouble(bound.high));
  return Cat(bound.low_open ? "greater than " : "that is not below ", FormatDouble(bound.low));
}

// Checks the constraints in the function table other than argument types.
void CheckArguments(const ExprContext& context, const FunctionRow& function,
                    const lang::CallExpr& call) {
  for (size_t i = 0; i < call.arguments.size() && function.arguments.size() > 0; ++i) {
    const ArgumentRow& row = function.arguments[std::min(i, function.arguments.size() - 1)];
    const Expr& argument = *call.arguments[i];
    const std::string* label = row.label ? TextOf(argument) : nullptr;
    if (label != nullptr && !IsLabelName(*label)) {
      context.Error(argument.span,
                    Cat("invalid label name in ", call.function, "(): ", Quote(*label)));
    }
    const std::optional<double> number = row.what.empty() ? std::nullopt : ConstantValue(argument);
    if (number.has_value() && !row.bound.Holds(*number)) {
      context.Error(argument.span, Cat(call.function, "() wants ", row.what, " ",
                                       BoundText(row.bound), ", found ", FormatDouble(*number)));
    } else if (number.has_value() && row.bound.not_above >= 0) {
      const auto other = static_cast<size_t>(row.bound.not_above);
      const std::optional<double> most = ConstantValue(*call.arguments[other]);
      if (!most.has_value() || *number <= *most) continue;
      context.Error(argument.span,
                    Cat(call.function, "() wants ", row.what, " that is not above argument ",
                        other + 1, " (", FormatDouble(*most), "), found ", FormatDouble(*number)));
    }
  }
  if (call.function == "histogram_over_time") CheckBuckets(context, call);
}

// Reports window kinds that the function does not support.
void CheckWindowKind(const ExprContext& context, const FunctionRow& function,
                     const lang::SelectorExpr& selector) {
  if (selector.window == lang::WindowSyntax::kAttempt && NeedsEverySample(function)) {
    context.Error(selector.window_span,
                  Cat(function.name, "() needs every sample of its window, and the state of the ",
                      "[attempt] window is constant: use a window of time or of samples"));
  }
  const bool counted = selector.window == lang::WindowSyntax::kSamples ||
                       selector.window == lang::WindowSyntax::kFirst;
  if (counted && function.state == StateFamily::kStates) {
    context.Error(selector.window_span,
                  Cat(function.name,
                      "() weighs by time, which a number of samples does not fix: use a "
                      "window of time or [attempt], or avg_over_time() for a share of samples"));
  }
}

void CheckCall(const ExprContext& context, const lang::CallExpr& call) {
  const FunctionRow* function = FindFunction(call.function);
  if (function == nullptr) return;  // already reported by CheckTypes
  if (function->support == Support::kNativeHistograms) {
    context.diagnostics->Unsupported(
        context.source, call.name_span,
        Cat("function ", call.function, "() reads native histograms, which are not supported"));
    return;
  }
  if (function->support == Support::kNotYet) {
    NotYet(context, call.name_span, Cat("function ", call.function, "()"));
    return;
  }
  CheckLabelNames(context, call);
  CheckArguments(context, *function, call);
  for (const lang::ExprPtr& argument : call.arguments) {
    const auto* selector = lang::Unwrap(*argument).As<lang::SelectorExpr>();
    if (selector != nullptr) CheckWindowKind(context, *function, *selector);
  }
}

void CheckSelector(const ExprContext& context, const Expr& expr,
                   const lang::SelectorExpr& selector) {
  if (selector.anchored) NotYet(context, expr.span, "the anchored modifier");
  if (selector.smoothed) NotYet(context, expr.span, "the smoothed modifier");
}

void CheckBinary(const ExprContext& context, const lang::BinaryExpr& binary) {
  if (binary.op == BinaryOp::kTrimUpper || binary.op == BinaryOp::kTrimLower) {
    NotYet(context, binary.op_span, Cat("operator ", Quote(lang::OpText(binary.op))));
  }
  if (binary.matching.fill_left || binary.matching.fill_right) {
    NotYet(context, binary.op_span, "the fill modifier");
  }
}

}  // namespace

void CheckSupport(const ExprContext& context, const Expr& root) {
  lang::Visit(root, [&](const Expr& expr) {
    if (const auto* call = expr.As<lang::CallExpr>()) {
      CheckCall(context, *call);
    } else if (const auto* aggregate = expr.As<lang::AggregateExpr>()) {
      const std::string* label =
          aggregate->parameter == nullptr ? nullptr : TextOf(*aggregate->parameter);
      if (label != nullptr && !IsLabelName(*label))
        context.Error(aggregate->parameter->span, "invalid label name in count_values()");
    } else if (const auto* selector = expr.As<lang::SelectorExpr>()) {
      CheckSelector(context, expr, *selector);
    } else if (const auto* binary = expr.As<lang::BinaryExpr>()) {
      CheckBinary(context, *binary);
    }
  });
}

}  // namespace pitwall::check
