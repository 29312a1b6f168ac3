// Syntax tree of PromQL as in Prometheus 3, extended with the window kinds [500 samples],
// [attempt], and [first 200 samples after 20], and with $parameters.
//
// The tree represents the expression as written: function names are unresolved, types are
// unchecked, and the tree may contain syntax that the engine does not evaluate (rules/check reports
// it). Spans refer to the parsed Source.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rules/lang/source.h"
#include "services/model/matcher.h"
#include "services/model/operators.h"

namespace pitwall::lang {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

std::string_view OpText(BinaryOp op);
std::string_view OpText(AggregateOp op);
bool TakesParameter(AggregateOp op);

// Duration, or a plain number without a unit: seconds, or steps on the step clock.
struct Duration {
  int64_t nanos =
      0;  // plain numbers: number * 1e9, which is also the step clock's unit (model/position.h)
  bool plain = false;  // written without a unit
  Span span;
  friend bool operator==(const Duration& a, const Duration& b) { return a.nanos == b.nanos; }
};

struct LabelMatcher {
  std::string label;
  MatchOp op = MatchOp::kEqual;
  std::string value;
  Span span;
  // Name of the parameter that supplies the value, without the $; "" if literal.
  std::string parameter = {};
  friend bool operator==(const LabelMatcher& a, const LabelMatcher& b) {
    return a.label == b.label && a.op == b.op && a.value == b.value;
  }
};

enum class AtKind { kTimestamp, kStart, kEnd };
struct AtModifier {
  AtKind kind = AtKind::kTimestamp;
  double seconds = 0;
  Span span;
  friend bool operator==(const AtModifier& a, const AtModifier& b) {
    return a.kind == b.kind && a.seconds == b.seconds;
  }
};

// The offset and @ modifiers of a selector or a subquery.
struct Modifiers {
  std::optional<Duration> offset;
  std::optional<AtModifier> at;
  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

enum class WindowSyntax {
  kNone,      // an instant vector
  kDuration,  // [5m]
  kSamples,   // [500 samples]
  kAttempt,   // [attempt]
  kFirst,     // [first 200 samples after 20]
};

struct NumberExpr {
  double value = 0;
  bool duration = false;  // written as a duration, such as 1h30m (5400)
};
struct StringExpr {
  std::string value;
};
struct ParameterExpr {
  std::string name;  // without the $
};
struct SelectorExpr {
  std::string name;  // "" if the selector has matchers only
  Span name_span;
  std::vector<LabelMatcher> matchers;
  WindowSyntax window = WindowSyntax::kNone;
  Duration range;                 // for kDuration
  int64_t samples = 0;            // for kSamples and kFirst
  int64_t skipped = 0;            // for kFirst: number of samples before the window
  std::string samples_parameter;  // for kSamples: name of the parameter that supplies `samples`; ""
                                  // if literal
  Span window_span;               // with the brackets
  bool anchored = false;
  bool smoothed = false;
  Modifiers modifiers;
};
struct SubqueryExpr {
  ExprPtr expr;
  Duration range;
  std::optional<Duration> step;
  Span window_span;
  Modifiers modifiers;
};
struct UnaryExpr {
  bool negative = true;  // false for unary plus
  ExprPtr expr;
};

enum class GroupSide { kNone, kLeft, kRight };  // group_left, group_right
struct VectorMatching {
  bool written = false;  // true if on or ignoring is present
  bool on = false;
  std::vector<std::string> labels;
  GroupSide group = GroupSide::kNone;
  std::vector<std::string> include;
  std::optional<double> fill_left;
  std::optional<double> fill_right;
  friend bool operator==(const VectorMatching&, const VectorMatching&) = default;
};
struct BinaryExpr {
  BinaryOp op = BinaryOp::kAdd;
  Span op_span;  // covers the operator and its modifiers
  bool return_bool = false;
  VectorMatching matching;
  ExprPtr left;
  ExprPtr right;
};

enum class Grouping { kNone, kBy, kWithout };
struct AggregateExpr {
  AggregateOp op = AggregateOp::kSum;
  Span op_span;
  Grouping grouping = Grouping::kNone;
  std::vector<std::string> labels;
  ExprPtr parameter;  // parameter of topk, quantile, count_values, …; null for other aggregations
  ExprPtr expr;
};
struct CallExpr {
  std::string function;
  Span name_span;
  std::vector<ExprPtr> arguments;
};
struct ParenExpr {
  ExprPtr expr;
};

// The alternatives are in the order of ExprKind, so that std::get<SelectorExpr>(e.node) and
// e.kind() agree.
enum class ExprKind {
  kNumber,
  kString,
  kParameter,
  kSelector,
  kSubquery,
  kUnary,
  kBinary,
  kAggregate,
  kCall,
  kParen,
};

struct Expr {
  using Node = std::variant<NumberExpr, StringExpr, ParameterExpr, SelectorExpr, SubqueryExpr,
                            UnaryExpr, BinaryExpr, AggregateExpr, CallExpr, ParenExpr>;
  Span span;
  Node node;
  int depth = 1;  // height of the tree

  ExprKind kind() const { return static_cast<ExprKind>(node.index()); }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&node);
  }
  template <typename T>
  T* As() {
    return std::get_if<T>(&node);
  }
};

// Compares trees, ignoring their source positions.
bool Equal(const Expr& a, const Expr& b);
// Returns the expression without enclosing parentheses.
const Expr& Unwrap(const Expr& expr);
// Returns the direct subexpressions from left to right.
std::vector<const Expr*> Children(const Expr& expr);
std::vector<Expr*> Children(Expr& expr);

// Calls visit(expr) for all nodes of the tree, parents first. `E` is Expr or const Expr.
template <typename E, typename F>
void Visit(E& expr, F&& visit) {
  visit(expr);
  for (E* child : Children(expr)) Visit(*child, visit);
}

}  // namespace pitwall::lang
