#include "services/offline/at_offset_folding.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::offline {
namespace {

using lang::Expr;
using lang::Modifiers;

Modifiers* ModifiersOf(Expr& expr) {
  if (auto* selector = std::get_if<lang::SelectorExpr>(&expr.node)) return &selector->modifiers;
  if (auto* subquery = std::get_if<lang::SubqueryExpr>(&expr.node)) return &subquery->modifiers;
  return nullptr;
}

bool IsElsewhere(const Modifiers& modifiers) {
  return modifiers.at || (modifiers.offset && modifiers.offset->nanos < 0);
}

// Returns the direct sub-expressions that are evaluated at the same tick as `expr`. Selectors and
// subqueries have no such sub-expressions.
std::vector<Expr*> AtTheTick(Expr& expr) {
  std::vector<Expr*> out;
  const auto add = [&](lang::ExprPtr& child) {
    if (child != nullptr) out.push_back(child.get());
  };
  if (auto* unary = std::get_if<lang::UnaryExpr>(&expr.node)) add(unary->expr);
  if (auto* paren = std::get_if<lang::ParenExpr>(&expr.node)) add(paren->expr);
  if (auto* binary = std::get_if<lang::BinaryExpr>(&expr.node)) {
    add(binary->left);
    add(binary->right);
  }
  if (auto* aggregate = std::get_if<lang::AggregateExpr>(&expr.node)) {
    add(aggregate->parameter);
    add(aggregate->expr);
  }
  if (auto* call = std::get_if<lang::CallExpr>(&expr.node)) {
    for (lang::ExprPtr& argument : call->arguments) add(argument);
  }
  return out;
}

lang::ExprPtr Number(double value) {
  auto expr = std::make_unique<Expr>();
  expr->node = lang::NumberExpr{value, false};
  return expr;
}

lang::ExprPtr Call(std::string function, lang::ExprPtr argument) {
  lang::CallExpr call;
  call.function = std::move(function);
  call.arguments.push_back(std::move(argument));
  auto expr = std::make_unique<Expr>();
  expr->node = std::move(call);
  return expr;
}

lang::ExprPtr Difference(lang::ExprPtr left, double right) {
  auto inner = std::make_unique<Expr>();
  inner->node = lang::ParenExpr{std::move(left)};
  lang::BinaryExpr binary;
  binary.op = BinaryOp::kSub;
  binary.left = std::move(inner);
  binary.right = Number(right);
  auto expr = std::make_unique<Expr>();
  expr->node = std::move(binary);
  return expr;
}

class Folder {
 public:
  Folder(int64_t at, int64_t start, int64_t end) : at_(at), start_(start), end_(end) {}

  // Finds the smallest offset relative to the tick across all selectors and subqueries. Negative
  // offsets look ahead.
  Status Measure(Expr& expr) {
    if (const Modifiers* modifiers = ModifiersOf(expr)) {
      least_ = std::min(least_, OffsetOf(*modifiers));
      if (const auto* subquery = std::get_if<lang::SubqueryExpr>(&expr.node)) {
        if (LooksElsewhere(*subquery->expr))
          return Unimplemented("@ and negative offsets are not supported inside a subquery");
      }
      return OkStatus();
    }
    for (Expr* child : AtTheTick(expr)) RETURN_IF_ERROR(Measure(*child));
    return OkStatus();
  }

  int64_t lead() const { return -least_; }

  // Shifts all offsets so that the expression has the same value when it is evaluated at the later
  // tick.
  Status Shift(Expr& expr) {
    if (Modifiers* modifiers = ModifiersOf(expr)) {
      lang::Duration offset;
      offset.nanos = OffsetOf(*modifiers) + lead();
      modifiers->offset = offset;
      modifiers->at.reset();
      return OkStatus();
    }
    for (Expr* child : AtTheTick(expr)) RETURN_IF_ERROR(Shift(*child));
    auto* call = std::get_if<lang::CallExpr>(&expr.node);
    if (call == nullptr || lead() == 0) return OkStatus();
    const double seconds = static_cast<double>(at_) / 1e9;
    if (call->function == "time") {
      expr.node = lang::NumberExpr{seconds, false};
    } else if (call->function == "predict_linear" && call->arguments.size() == 2) {
      call->arguments[1] =
          Difference(std::move(call->arguments[1]), static_cast<double>(lead()) / 1e9);
    } else if (call->function == "timestamp" && call->arguments.size() == 1) {
      if (ModifiersOf(*call->arguments[0]) == nullptr)
        return Unimplemented(
            "timestamp() of an expression other than a selector cannot be combined with a negative "
            "offset or @");
    } else if (call->arguments.empty() && call->function != "pi") {
      call->arguments.push_back(Call("vector", Number(seconds)));  // hour(), year(), …
    }
    return OkStatus();
  }

 private:
  int64_t OffsetOf(const Modifiers& modifiers) const {
    int64_t offset = modifiers.offset ? modifiers.offset->nanos : 0;
    if (modifiers.at) {
      switch (modifiers.at->kind) {
        case lang::AtKind::kTimestamp:
          offset += at_ - std::llround(modifiers.at->seconds * 1e3) * 1'000'000;
          break;
        case lang::AtKind::kStart:
          offset += at_ - start_;
          break;
        case lang::AtKind::kEnd:
          offset += at_ - end_;
          break;
      }
    }
    return offset;
  }

  const int64_t at_, start_, end_;
  int64_t least_ = 0;
};

}  // namespace

bool LooksElsewhere(const Expr& expr) {
  bool found = false;
  lang::Visit(expr, [&](const Expr& e) {
    if (const auto* selector = e.As<lang::SelectorExpr>())
      found |= IsElsewhere(selector->modifiers);
    if (const auto* subquery = e.As<lang::SubqueryExpr>())
      found |= IsElsewhere(subquery->modifiers);
  });
  return found;
}

StatusOr<int64_t> FoldTimes(int64_t at, int64_t start, int64_t end, Expr* expr) {
  Folder folder(at, start, end);
  RETURN_IF_ERROR(folder.Measure(*expr));
  if (folder.lead() > kMaxPosition / 8) return InvalidArgument("time is out of range");
  RETURN_IF_ERROR(folder.Shift(*expr));
  return folder.lead();
}

}  // namespace pitwall::offline
