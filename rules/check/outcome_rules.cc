// Warnings about rules that never fire or always fire. The conclusions are valid for all samples,
// including NaN. They assume that metrics match the catalog (ratios from 0 to 1, counters at least
// 0) and that parameters have the values in the rule file.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "rules/check/comparison_bounds.h"
#include "rules/check/label_flow.h"
#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "rules/check/value_range.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using lang::BinaryExpr;
using lang::Expr;

// Ratios are computed from clocks, so values can slightly exceed 1.
constexpr double kRatioMost = 1 + 1e-6;

struct Outcome {
  bool never = false;  // the result never has an element
  bool ever = false;   // the result always has an element, regardless of which series exist
  ValueRange range;
  bool measured = false;   // depends on samples, not only on numbers and parameters
  bool parameter = false;  // depends on a parameter's value
};

struct Cause {
  lang::Span span;
  std::string text;
};

std::string MatcherText(const lang::LabelMatcher& matcher) {
  const StatusOr<Matcher> made = Matcher::Make(matcher.label, matcher.op, matcher.value);
  return made.ok() ? made->ToString() : matcher.label;
}

// Returns true if enough is known about both sides for a warning. Users disable a rule by
// overriding a parameter that is compared directly with a number, so such a comparison is not a
// mistake.
bool IsConclusive(const Outcome& left, const Outcome& right) {
  if (!left.parameter && !right.parameter) return true;
  if (left.parameter && right.parameter) return false;
  const Outcome& other = left.parameter ? right : left;
  return other.measured && other.range.IsBounded();
}

// Returns the reason why a comparison is never true.
std::string NeverText(const ExprContext& context, const BinaryExpr& binary, const Outcome& left,
                      const Outcome& right, bool left_is_subject) {
  const Outcome& subject = left_is_subject ? left : right;
  const Outcome& bound = left_is_subject ? right : left;
  const Expr& subject_expr = left_is_subject ? *binary.left : *binary.right;
  if (std::isnan(left.range.low) || std::isnan(right.range.low))
    return "a comparison with NaN is never true: to find NaN, compare a value with itself (!=)";
  const std::string shown(context.source.Text(subject_expr.span));
  std::string out = Cat("this is never true: ", shown, " is ", RangeText(subject.range));
  if (bound.range.IsPoint() && !bound.measured)
    CatTo(out, ", compared with ", RangeText(bound.range).substr(7));
  // Comparing a ratio with a percentage is a common mistake.
  if (subject.range.low == 0 && subject.range.high == kRatioMost && bound.range.IsPoint() &&
      bound.range.low > 1 && bound.range.low <= 100) {
    CatTo(out, ": for ", FormatDouble(bound.range.low), " percent write ",
          FormatDouble(bound.range.low / 100));
  }
  return out;
}

class OutcomeChecker {
 public:
  explicit OutcomeChecker(const ExprContext& context) : context_(context) {}

  Outcome Visit(const Expr& expr) {
    if (const std::optional<double> constant = ConstantValue(expr)) {
      Outcome out;
      out.ever = true;
      out.range = ValueRange::Point(*constant);
      return out;
    }
    return std::visit([&](const auto& node) { return Of(expr, node); }, expr.node);
  }
  const std::vector<Cause>& causes() const { return causes_; }

 private:
  Outcome Of(const Expr&, const lang::NumberExpr& number) {
    Outcome out;
    out.ever = true;
    out.range = ValueRange::Point(number.value);
    return out;
  }
  Outcome Of(const Expr&, const lang::StringExpr&) { return {}; }
  Outcome Of(const Expr&, const lang::ParenExpr& paren) { return Visit(*paren.expr); }

  Outcome Of(const Expr&, const lang::ParameterExpr& parameter) {
    Outcome out;
    out.ever = true;
    out.parameter = true;
    for (const lang::ParameterText& known : context_.rule.parameters) {
      if (known.name == parameter.name && std::isfinite(known.value))
        out.range = ValueRange::Point(known.value);
    }
    return out;
  }

  Outcome Of(const Expr& expr, const lang::SelectorExpr& selector) {
    Outcome out;
    out.measured = true;
    const std::string_view name = MetricNameOf(selector);
    const MetricInfo* metric = context_.options.catalog->Find(name);
    if (metric != nullptr && metric->name == name && !context_.recorded.contains(name)) {
      if (metric->unit == "ratio") out.range = {0, kRatioMost, false, false};
      if (metric->kind == MetricKind::kCounter) out.range = ValueRange::AtLeast(0);
    }
    CheckMatchers(expr, selector, &out);
    return out;
  }

  Outcome Of(const Expr&, const lang::SubqueryExpr& subquery) {
    Outcome out = Visit(*subquery.expr);
    out.ever = false;  // a window may end before the first step
    return out;
  }

  Outcome Of(const Expr&, const lang::UnaryExpr& unary) {
    Outcome out = Visit(*unary.expr);
    if (unary.negative) out.range = Negate(out.range);
    return out;
  }

  Outcome Of(const Expr&, const lang::AggregateExpr& aggregate) {
    if (aggregate.parameter != nullptr) Visit(*aggregate.parameter);
    Outcome out = Visit(*aggregate.expr);
    out.range = RangeOfAggregate(aggregate, out.range);
    // topk(0, …) has no elements, but the analysis does not track counts.
    out.ever = out.ever && aggregate.parameter == nullptr;
    return out;
  }

  Outcome Of(const Expr& expr, const lang::CallExpr& call) {
    Outcome out;
    std::vector<ValueRange> ranges;
    bool has_vector = false;
    bool never = false;
    bool ever = true;
    for (const lang::ExprPtr& argument : call.arguments) {
      const Outcome inner = Visit(*argument);
      ranges.push_back(inner.range);
      out.measured = out.measured || inner.measured;
      out.parameter = out.parameter || inner.parameter;
      const Type type = TypeOf(*argument);
      if (type != Type::kVector && type != Type::kMatrix) continue;
      has_vector = true;
      never = inner.never;
      ever = inner.ever;
    }
    out.range = RangeOfCall(call, ranges);
    if (TypeOf(expr) == Type::kScalar || call.function == "vector") {
      out.ever = true;
      if (call.arguments.empty()) out.measured = true;  // result of time()
    } else if (call.function == "absent" || call.function == "absent_over_time") {
      out.ever = never;
      out.never = ever;
    } else {
      out.never = has_vector && never;
      out.ever = !has_vector || ever;
      if (!has_vector) out.measured = true;  // result of hour() and similar functions
    }
    NeedsTwoSamples(call, &out);
    return out;
  }

  // Detects functions such as rate() over windows that can never contain two samples.
  void NeedsTwoSamples(const lang::CallExpr& call, Outcome* out) {
    const FunctionRow* function = FindFunction(call.function);
    if (function == nullptr || function->least < 2) return;
    const auto cause = [&](lang::Span span, std::string_view what) {
      out->never = true;
      causes_.push_back({span, Cat(call.function, "() needs two samples, and ", what)});
    };
    const Expr& window = lang::Unwrap(*call.arguments[0]);
    if (const auto* selector = window.As<lang::SelectorExpr>()) {
      const bool counted = selector->window == lang::WindowSyntax::kSamples ||
                           selector->window == lang::WindowSyntax::kFirst;
      if (counted && selector->samples == 1)
        cause(selector->window_span, "this window holds one sample");
    } else if (const auto* subquery = window.As<lang::SubqueryExpr>()) {
      const int64_t step = subquery->step ? subquery->step->nanos : context_.group.subquery_step;
      if (subquery->range.nanos <= step)
        cause(subquery->window_span, "this subquery has one evaluation in its window");
    }
  }

  // Detects contradictory matchers such as {a="x",a="y"}.
  void CheckMatchers(const Expr& expr, const lang::SelectorExpr& selector, Outcome* out) {
    for (const lang::LabelMatcher& equal : selector.matchers) {
      if (equal.op != MatchOp::kEqual) continue;
      for (const lang::LabelMatcher& other : selector.matchers) {
        if (other.label != equal.label || &other == &equal) continue;
        const StatusOr<Matcher> matcher = Matcher::Make(other.label, other.op, other.value);
        if (!matcher.ok() || matcher->Matches(equal.value)) continue;
        // Reports each pair of equality matchers only once.
        if (other.op == MatchOp::kEqual && &other < &equal) continue;
        out->never = true;
        causes_.push_back(
            {other.span == lang::Span() ? expr.span : other.span,
             Cat("no series matches both ", MatcherText(equal), " and ", MatcherText(other))});
        return;
      }
    }
  }

  Outcome Of(const Expr& expr, const BinaryExpr& binary) {
    const Outcome left = Visit(*binary.left);
    const Outcome right = Visit(*binary.right);
    const bool left_vector = TypeOf(*binary.left) == Type::kVector;
    const bool right_vector = TypeOf(*binary.right) == Type::kVector;
    Outcome out;
    out.measured = left.measured || right.measured;
    out.parameter = left.parameter || right.parameter;
    if (IsSetOp(binary.op)) return SetOperator(binary, left, right, out);
    out.never = left.never || right.never;
    // Two vectors that always exist may still have no matching elements.
    out.ever = left.ever && right.ever && !(left_vector && right_vector);
    if (left_vector && right_vector && !out.never) {
      const std::string why =
          NeverMatches(binary, LabelsOf(context_, *binary.left), LabelsOf(context_, *binary.right));
      if (!why.empty()) {
        causes_.push_back({binary.op_span, Cat("the two sides of ", lang::OpText(binary.op),
                                               " match only where labels are missing: ", why)});
      }
    }
    if (!IsComparison(binary.op)) {
      out.range = Arithmetic(binary.op, left.range, right.range);
      return out;
    }
    Compare(expr, binary, left, right, left_vector, right_vector, &out);
    return out;
  }

  void Compare(const Expr& expr, const BinaryExpr& binary, const Outcome& left,
               const Outcome& right, bool left_vector, bool right_vector, Outcome* out) {
    const bool vector = left_vector || right_vector;
    const bool conclusive = !left.never && !right.never && IsConclusive(left, right);
    const bool never = conclusive && NeverTrue(binary.op, left.range, right.range);
    const bool always = conclusive && AlwaysTrue(binary.op, left.range, right.range);
    if (never) {
      causes_.push_back(
          {expr.span, NeverText(context_, binary, left, right, left_vector || !right_vector)});
    }
    if (binary.return_bool) {
      out->range = {never ? 0.0 : always ? 1.0 : 0.0, never ? 0.0 : 1.0, false, false};
      return;
    }
    if (!vector) return;
    out->never = out->never || never;
    out->ever = out->ever && always;
    if (left_vector) {
      out->range = Intersect(left.range, Allowed(binary.op, right.range));
      // Overriding a parameter may invalidate the finding.
      if (IsEmpty(out->range)) out->range = left.range;
    } else {
      out->range = right.range;
    }
  }

  Outcome SetOperator(const BinaryExpr& binary, const Outcome& left, const Outcome& right,
                      Outcome out) {
    const bool default_matching = !binary.matching.on && binary.matching.labels.empty();
    switch (binary.op) {
      case BinaryOp::kOr:
        out.never = left.never && right.never;
        out.ever = left.ever || right.ever;
        out.range = left.never    ? right.range
                    : right.never ? left.range
                                  : Hull(left.range, right.range);
        return out;
      case BinaryOp::kAnd:
        out.never = left.never || right.never;
        out.range = left.range;
        if (out.never) return out;
        if (const std::string why = NeverMatches(binary, LabelsOf(context_, *binary.left),
                                                 LabelsOf(context_, *binary.right));
            !why.empty()) {
          causes_.push_back(
              {binary.op_span,
               Cat("the two sides of and match only where labels are missing: ", why)});
        } else if (const auto found =
                       default_matching ? FindContradiction(context_, binary) : std::nullopt) {
          out.never = true;
          causes_.push_back({binary.op_span, Cat("the two sides contradict each other: ",
                                                 context_.source.Text(found->left.subject->span),
                                                 " would have to be ", RangeText(found->left.range),
                                                 " and ", RangeText(found->right.range))});
        }
        return out;
      default:  // the operator is `unless`
        out.never = left.never;
        out.range = left.range;
        if (out.never || right.never) return out;
        if (const std::string why = NeverMatches(binary, LabelsOf(context_, *binary.left),
                                                 LabelsOf(context_, *binary.right));
            !why.empty()) {
          causes_.push_back(
              {binary.op_span, Cat("unless excludes elements only if labels are missing: ", why)});
        } else if (default_matching && ExcludesAll(context_, binary)) {
          out.never = true;
          causes_.push_back({binary.op_span,
                             "unless excludes every element: its right side holds wherever its "
                             "left side does"});
        }
        return out;
    }
  }

  const ExprContext& context_;
  std::vector<Cause> causes_;
};

// A watchdog alert should always fire, because it tests alerting itself.
bool IsWatchdog(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view word : {"watchdog", "deadman", "heartbeat", "alwaysfiring"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

// Returns true if the expression filters elements before an aggregation. For example, count(up ==
// 0) > 0 tests whether any element matches the filter.
bool FiltersElements(const Expr& root) {
  bool out = false;
  lang::Visit(root, [&](const Expr& expr) {
    if (const auto* binary = expr.As<BinaryExpr>()) {
      out = out || binary->op == BinaryOp::kAnd || binary->op == BinaryOp::kUnless ||
            (IsComparison(binary->op) && !binary->return_bool);
    }
    const auto* call = expr.As<lang::CallExpr>();
    out = out || (call != nullptr && StartsWith(call->function, "absent"));
  });
  return out;
}

// Returns the reason why an alert fires for every existing series, or "" if it does not.
std::string FiresForAll(const ExprContext& context, const Expr& root) {
  const Expr& expr = lang::Unwrap(root);
  const auto* binary = expr.As<BinaryExpr>();
  if (binary == nullptr || !IsComparison(binary->op)) return {};
  if (binary->return_bool) {
    return "bool makes this 0 or 1 instead of leaving elements out, so the alert fires for every "
           "series that exists: remove bool";
  }
  OutcomeChecker checker(context);
  const Outcome left = checker.Visit(*binary->left);
  const Outcome right = checker.Visit(*binary->right);
  // absent(x) == 1 is equivalent to absent(x).
  const Outcome& subject = TypeOf(*binary->left) == Type::kVector ? left : right;
  if (subject.range.IsPoint() || !subject.measured || left.parameter || right.parameter) return {};
  if (!AlwaysTrue(binary->op, left.range, right.range)) return {};
  if (FiltersElements(*binary->left) || FiltersElements(*binary->right)) return {};
  return Cat("this is true for every number that ", context.source.Text(expr.span),
             " can compare, so the alert fires for every series that exists");
}

}  // namespace

void CheckOutcome(const ExprContext& context, const Expr& root, Outcomes outcomes) {
  OutcomeChecker checker(context);
  const Outcome outcome = checker.Visit(root);
  const std::string_view never = outcomes == Outcomes::kAlert   ? "the alert can never fire: "
                                 : outcomes == Outcomes::kClear ? "clear can never hold: "
                                                                : "there is never a result: ";
  for (const Cause& cause : checker.causes()) {
    context.Add(lang::Severity::kWarning, cause.span, Cat(outcome.never ? never : "", cause.text));
  }
  if (outcomes != Outcomes::kAlert || outcome.never || IsWatchdog(context.rule.name)) return;
  if (outcome.ever) {
    context.Add(lang::Severity::kWarning, root.span,
                "this always has a result, whatever the series are: the alert always fires");
  } else if (const std::string why = FiresForAll(context, root); !why.empty()) {
    context.Add(lang::Severity::kWarning, root.span, why);
  }
}

}  // namespace pitwall::check
