#include "rules/check/types.h"

#include <cmath>

namespace pitwall::check {

using lang::Expr;
using lang::ExprKind;

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kScalar:
      return "scalar";
    case Type::kVector:
      return "instant vector";
    case Type::kMatrix:
      return "range vector";
    case Type::kString:
      return "string";
  }
  return "";
}

Type TypeOf(const Expr& expr) {
  switch (expr.kind()) {
    case ExprKind::kNumber:
    case ExprKind::kParameter:
      return Type::kScalar;
    case ExprKind::kString:
      return Type::kString;
    case ExprKind::kSelector:
      return expr.As<lang::SelectorExpr>()->window == lang::WindowSyntax::kNone ? Type::kVector
                                                                                : Type::kMatrix;
    case ExprKind::kSubquery:
      return Type::kMatrix;
    case ExprKind::kUnary:
      return TypeOf(*expr.As<lang::UnaryExpr>()->expr);
    case ExprKind::kParen:
      return TypeOf(*expr.As<lang::ParenExpr>()->expr);
    case ExprKind::kBinary: {
      const auto* binary = expr.As<lang::BinaryExpr>();
      const bool scalar =
          TypeOf(*binary->left) == Type::kScalar && TypeOf(*binary->right) == Type::kScalar;
      return scalar ? Type::kScalar : Type::kVector;
    }
    case ExprKind::kAggregate:
      return Type::kVector;
    case ExprKind::kCall: {
      const FunctionRow* function = FindFunction(expr.As<lang::CallExpr>()->function);
      return function == nullptr ? Type::kVector : function->result;
    }
  }
  return Type::kVector;
}

namespace {

double Apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kMod:
      return std::fmod(a, b);
    case BinaryOp::kPow:
      return std::pow(a, b);
    case BinaryOp::kAtan2:
      return std::atan2(a, b);
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kGt:
      return a > b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kGe:
      return a >= b;
    case BinaryOp::kLe:
      return a <= b;
    default:
      return 0;  // set and trim operators are never scalar
  }
}

}  // namespace

std::optional<double> ConstantValue(const Expr& expr) {
  switch (expr.kind()) {
    case ExprKind::kNumber:
      return expr.As<lang::NumberExpr>()->value;
    case ExprKind::kParen:
      return ConstantValue(*expr.As<lang::ParenExpr>()->expr);
    case ExprKind::kUnary: {
      const auto* unary = expr.As<lang::UnaryExpr>();
      const std::optional<double> value = ConstantValue(*unary->expr);
      if (!value) return std::nullopt;
      return unary->negative ? -*value : *value;
    }
    case ExprKind::kBinary: {
      const auto* binary = expr.As<lang::BinaryExpr>();
      if (IsSetOp(binary->op) || binary->op == BinaryOp::kTrimUpper ||
          binary->op == BinaryOp::kTrimLower) {
        return std::nullopt;
      }
      const std::optional<double> left = ConstantValue(*binary->left);
      if (!left) return std::nullopt;
      const std::optional<double> right = ConstantValue(*binary->right);
      if (!right) return std::nullopt;
      return Apply(binary->op, *left, *right);
    }
    case ExprKind::kCall: {
      const auto* call = expr.As<lang::CallExpr>();
      if (call->function == "pi" && call->arguments.empty()) return 3.14159265358979323846;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace pitwall::check
