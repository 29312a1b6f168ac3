#include "rules/lang/ast.h"

namespace pitwall::lang {

std::string_view OpText(BinaryOp op) {
  constexpr std::string_view kTexts[] = {"+", "-", "*",  "/",  "%",  "^",  "atan2", "==", "!=",
                                         ">", "<", ">=", "<=", "</", ">/", "and",   "or", "unless"};
  return kTexts[static_cast<size_t>(op)];
}

std::string_view OpText(AggregateOp op) {
  constexpr std::string_view kTexts[] = {"sum",     "avg",    "min",         "max",         "count",
                                         "group",   "stddev", "stdvar",      "quantile",    "topk",
                                         "bottomk", "limitk", "limit_ratio", "count_values"};
  return kTexts[static_cast<size_t>(op)];
}

bool TakesParameter(AggregateOp op) { return op >= AggregateOp::kQuantile; }

namespace {

bool EqualOrBothNull(const ExprPtr& a, const ExprPtr& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return Equal(*a, *b);
}

// Compares two literals as written, so NaN equals NaN.
bool SameNumber(double a, double b) { return a == b || (a != a && b != b); }

struct NodesEqual {
  bool operator()(const NumberExpr& a, const NumberExpr& b) const {
    return SameNumber(a.value, b.value) && a.duration == b.duration;
  }
  bool operator()(const StringExpr& a, const StringExpr& b) const { return a.value == b.value; }
  bool operator()(const ParameterExpr& a, const ParameterExpr& b) const { return a.name == b.name; }
  bool operator()(const SelectorExpr& a, const SelectorExpr& b) const {
    return a.name == b.name && a.matchers == b.matchers && a.window == b.window &&
           a.range == b.range && a.samples == b.samples && a.skipped == b.skipped &&
           a.anchored == b.anchored && a.smoothed == b.smoothed && a.modifiers == b.modifiers;
  }
  bool operator()(const SubqueryExpr& a, const SubqueryExpr& b) const {
    return a.range == b.range && a.step == b.step && a.modifiers == b.modifiers &&
           EqualOrBothNull(a.expr, b.expr);
  }
  bool operator()(const UnaryExpr& a, const UnaryExpr& b) const {
    return a.negative == b.negative && EqualOrBothNull(a.expr, b.expr);
  }
  bool operator()(const BinaryExpr& a, const BinaryExpr& b) const {
    return a.op == b.op && a.return_bool == b.return_bool && a.matching == b.matching &&
           EqualOrBothNull(a.left, b.left) && EqualOrBothNull(a.right, b.right);
  }
  bool operator()(const AggregateExpr& a, const AggregateExpr& b) const {
    return a.op == b.op && a.grouping == b.grouping && a.labels == b.labels &&
           EqualOrBothNull(a.parameter, b.parameter) && EqualOrBothNull(a.expr, b.expr);
  }
  bool operator()(const CallExpr& a, const CallExpr& b) const {
    if (a.function != b.function || a.arguments.size() != b.arguments.size()) return false;
    for (size_t i = 0; i < a.arguments.size(); ++i) {
      if (!EqualOrBothNull(a.arguments[i], b.arguments[i])) return false;
    }
    return true;
  }
  bool operator()(const ParenExpr& a, const ParenExpr& b) const {
    return EqualOrBothNull(a.expr, b.expr);
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

template <typename E>
struct ChildrenOf {
  std::vector<E*> out;
  void Push(const ExprPtr& child) {
    if (child != nullptr) out.push_back(child.get());
  }
  void operator()(const NumberExpr&) {}
  void operator()(const StringExpr&) {}
  void operator()(const ParameterExpr&) {}
  void operator()(const SelectorExpr&) {}
  void operator()(const SubqueryExpr& e) { Push(e.expr); }
  void operator()(const UnaryExpr& e) { Push(e.expr); }
  void operator()(const BinaryExpr& e) {
    Push(e.left);
    Push(e.right);
  }
  void operator()(const AggregateExpr& e) {
    Push(e.parameter);
    Push(e.expr);
  }
  void operator()(const CallExpr& e) {
    for (const ExprPtr& argument : e.arguments) Push(argument);
  }
  void operator()(const ParenExpr& e) { Push(e.expr); }
};

}  // namespace

bool Equal(const Expr& a, const Expr& b) { return std::visit(NodesEqual{}, a.node, b.node); }

const Expr& Unwrap(const Expr& expr) {
  const Expr* inner = &expr;
  while (const ParenExpr* paren = inner->As<ParenExpr>()) inner = paren->expr.get();
  return *inner;
}

std::vector<const Expr*> Children(const Expr& expr) {
  ChildrenOf<const Expr> children;
  std::visit([&](const auto& node) { children(node); }, expr.node);
  return std::move(children.out);
}

std::vector<Expr*> Children(Expr& expr) {
  ChildrenOf<Expr> children;
  std::visit([&](const auto& node) { children(node); }, expr.node);
  return std::move(children.out);
}

}  // namespace pitwall::lang
