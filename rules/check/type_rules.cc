#include <algorithm>

#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/model/matcher.h"

namespace pitwall::check {
namespace {

using lang::BinaryExpr;
using lang::Expr;
using lang::GroupSide;

class TypeChecker {
 public:
  explicit TypeChecker(const ExprContext& context) : context_(context) {}

  // Returns the type of the expression. Reports errors in subexpressions first.
  Type Check(const Expr& expr) {
    std::visit([&](const auto& node) { CheckNode(expr, node); }, expr.node);
    return TypeOf(expr);
  }
  bool ok() const { return ok_; }

 private:
  void Error(lang::Span span, std::string_view message) {
    ok_ = false;
    context_.Error(span, message);
  }
  void Expect(const Expr& expr, Type want, std::string_view where) {
    const Type type = Check(expr);
    if (type != want) {
      Error(expr.span,
            Cat("expected type ", TypeName(want), " in ", where, ", got ", TypeName(type)));
    }
  }

  void CheckNode(const Expr&, const lang::NumberExpr&) {}
  void CheckNode(const Expr&, const lang::StringExpr&) {}
  void CheckNode(const Expr&, const lang::ParameterExpr&) {}
  void CheckNode(const Expr&, const lang::ParenExpr& paren) { Check(*paren.expr); }

  void CheckNode(const Expr& expr, const lang::UnaryExpr& unary) {
    const Type type = Check(*unary.expr);
    if (type != Type::kScalar && type != Type::kVector) {
      Error(
          expr.span,
          Cat("unary expression only allowed on expressions of type scalar or instant vector, got ",
              TypeName(type)));
    }
  }

  void CheckNode(const Expr& expr, const lang::SubqueryExpr& subquery) {
    const Type type = Check(*subquery.expr);
    if (type != Type::kVector) {
      Error(expr.span,
            Cat("subquery is only allowed on instant vector, got ", TypeName(type), " instead"));
    }
  }

  void CheckNode(const Expr& expr, const lang::SelectorExpr& selector) {
    bool not_empty = !selector.name.empty();
    for (const lang::LabelMatcher& matcher : selector.matchers) {
      const StatusOr<Matcher> made = Matcher::Make(matcher.label, matcher.op, matcher.value);
      if (!made.ok()) {
        Error(matcher.span, ToStd(made.status().message()));
        not_empty = true;
        continue;
      }
      if (!made->Matches("")) not_empty = true;
      if (!selector.name.empty() && matcher.label == kMetricName) {
        Error(expr.span, Cat("metric name must not be set twice: ", Quote(selector.name), " or ",
                             Quote(matcher.value)));
      }
    }
    if (!not_empty && &expr != info_labels_)
      Error(expr.span, "vector selector must contain at least one non-empty matcher");
  }

  void CheckNode(const Expr&, const lang::AggregateExpr& aggregate) {
    if (aggregate.parameter != nullptr) {
      Expect(*aggregate.parameter,
             aggregate.op == AggregateOp::kCountValues ? Type::kString : Type::kScalar,
             "aggregation parameter");
    }
    Expect(*aggregate.expr, Type::kVector, "aggregation expression");
  }

  void CheckNode(const Expr& expr, const lang::CallExpr& call) {
    const FunctionRow* function = FindFunction(call.function);
    if (function == nullptr) {
      std::vector<std::string_view> names;
      for (const FunctionRow* known : Functions()) names.push_back(known->name);
      Error(call.name_span, Cat("unknown function with name ", Quote(call.function),
                                DidYouMean(call.function, names)));
      for (const lang::ExprPtr& argument : call.arguments) Check(*argument);
      return;
    }
    const size_t given = call.arguments.size();
    const size_t declared = function->arguments.size();
    const std::string in_call = Cat(" in call to ", Quote(call.function), ", got ", given);
    if (function->variadic == 0) {
      if (given != declared) Error(expr.span, Cat("expected ", declared, " argument(s)", in_call));
    } else {
      const size_t least = declared - 1;
      if (given < least)
        Error(expr.span, Cat("expected at least ", least, " argument(s)", in_call));
      if (function->variadic > 0 && given > least + static_cast<size_t>(function->variadic)) {
        Error(expr.span, Cat("expected at most ", least + static_cast<size_t>(function->variadic),
                             " argument(s)", in_call));
      }
    }
    if (declared == 0) return;
    // The second argument of info() selects labels, not series.
    if (call.function == "info" && given == 2) info_labels_ = call.arguments[1].get();
    for (size_t i = 0; i < given; ++i) {
      Expect(*call.arguments[i], function->arguments[std::min(i, declared - 1)].type,
             Cat("call to function ", Quote(call.function)));
    }
  }

  void CheckNode(const Expr& expr, const BinaryExpr& binary) {
    const Type left = Check(*binary.left);
    const Type right = Check(*binary.right);
    const std::string op = Quote(lang::OpText(binary.op));
    for (const auto& [side, type] :
         {std::pair(&binary.left, left), std::pair(&binary.right, right)}) {
      if (type != Type::kScalar && type != Type::kVector) {
        Error((*side)->span, "binary expression must contain only scalar and instant vector types");
        return;
      }
    }
    const bool vectors = left == Type::kVector && right == Type::kVector;
    const bool scalars = left == Type::kScalar && right == Type::kScalar;
    const lang::VectorMatching& matching = binary.matching;
    if (binary.return_bool && !IsComparison(binary.op)) {
      Error(binary.op_span, "bool modifier can only be used on comparison operators");
    }
    if (IsComparison(binary.op) && scalars && !binary.return_bool) {
      Error(binary.op_span, "comparisons between scalars must use BOOL modifier");
    }
    for (const std::string& label : matching.labels) {
      if (matching.on && std::find(matching.include.begin(), matching.include.end(), label) !=
                             matching.include.end()) {
        Error(binary.op_span,
              Cat("label ", Quote(label), " must not occur in ON and GROUP clause at once"));
      }
    }
    if (IsSetOp(binary.op)) {
      if (!vectors) {
        Error(binary.op_span, Cat("set operator ", op, " not allowed in binary scalar expression"));
        return;
      }
      if (matching.group != GroupSide::kNone)
        Error(binary.op_span, Cat("no grouping allowed for ", op, " operation"));
      if (matching.fill_left || matching.fill_right) {
        Error(binary.op_span, "filling in missing series not allowed for set operators");
      }
    } else if (!vectors) {
      if (!matching.labels.empty())
        Error(expr.span, "vector matching only allowed between instant vectors");
      if (matching.fill_left || matching.fill_right) {
        Error(expr.span, "filling in missing series only allowed between instant vectors");
      }
    }
  }

  const ExprContext& context_;
  const Expr* info_labels_ = nullptr;
  bool ok_ = true;
};

}  // namespace

bool CheckTypes(const ExprContext& context, const Expr& expr) {
  TypeChecker checker(context);
  const Type type = checker.Check(expr);
  if (checker.ok() && type != Type::kScalar && type != Type::kVector) {
    context.Error(expr.span, Cat("the result of a rule must be an instant vector or a scalar, got ",
                                 TypeName(type)));
    return false;
  }
  return checker.ok();
}

}  // namespace pitwall::check
