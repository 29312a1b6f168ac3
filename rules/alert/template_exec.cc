#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "rules/alert/template_tree.h"
#include "services/base/strings.h"

namespace pitwall::alert {
namespace {

constexpr size_t kMaxOutput = 64 * 1024;

class Executor {
 public:
  Executor(const TemplateBody& body, const TemplateInput& input)
      : body_(body), input_(input), slots_(body.slots) {
    slots_[kRootSlot] = MapKind::kRoot;
    slots_[kLabelsSlot] = MapKind::kLabels;
    slots_[kExternalLabelsSlot] = MapKind::kEmpty;
    slots_[kExternalUrlSlot] = std::string();
    slots_[kValueSlot] = input.value;
    slots_[kParamsSlot] = MapKind::kParams;
    slots_[kStepSlot] = std::string();
    if (input.step != kNoStep) slots_[kStepSlot] = input.step;
  }

  StatusOr<std::string> Run() {
    RETURN_IF_ERROR(RunBlock(body_.block, MapKind::kRoot));
    return std::move(out_);
  }

 private:
  Status Error(const Expr& at, std::string_view cause) const {
    return InvalidArgument(Cat("error executing template ", body_.name, ": template: ", body_.name,
                               ":", at.line, ":", at.column, ": executing ", Quote(body_.name),
                               " at <", at.text, ">: ", cause));
  }
  Status TooLong() const {
    return ResourceExhausted(Cat("error executing template ", body_.name,
                                 ": output is longer than ", kMaxOutput, " bytes"));
  }

  Status RunBlock(const Block& block, const Value& dot) {
    for (const Statement& s : block.statements) {
      if (s.kind == Statement::Kind::kText) {
        out_ += s.text;
      } else {
        ASSIGN_OR_RETURN(Value value, Evaluate(*s.expr, dot));
        switch (s.kind) {
          case Statement::Kind::kPrint:
            out_ += Text(value);
            break;
          case Statement::Kind::kSet:
            slots_[s.slot] = std::move(value);
            break;
          default: {
            const bool yes = IsTrue(value, input_);
            const Value inner = s.kind == Statement::Kind::kWith && yes ? value : dot;
            if (s.has_slot) slots_[s.slot] = std::move(value);
            const Block* branch = yes ? s.then.get() : s.otherwise.get();
            if (branch != nullptr) RETURN_IF_ERROR(RunBlock(*branch, inner));
            break;
          }
        }
      }
      if (out_.size() > kMaxOutput) return TooLong();
    }
    return OkStatus();
  }

  std::string Text(const Value& value) const {
    const auto* map = std::get_if<MapKind>(&value);
    if (map == nullptr) return GoText(value);
    std::string out = *map == MapKind::kRoot ? "{" : "map[";
    std::string_view separator;
    const auto add = [&](std::string_view name, std::string_view text) {
      CatTo(out, separator, name, ":", text);
      separator = " ";
    };
    if (*map == MapKind::kRoot) {
      CatTo(out, Text(MapKind::kLabels), " map[]  ", GoNumber(input_.value));
    } else if (*map == MapKind::kLabels && input_.labels != nullptr) {
      for (const Label& label : *input_.labels) add(label.name, label.value);
    } else if (*map == MapKind::kParams) {
      std::vector<std::pair<std::string, double>> sorted(input_.params.begin(),
                                                         input_.params.end());
      std::sort(sorted.begin(), sorted.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [name, number] : sorted) add(name, GoNumber(number));
    }
    return out + (*map == MapKind::kRoot ? "}" : "]");
  }

  StatusOr<Value> Evaluate(const Expr& expr, const Value& dot) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
        return expr.literal;
      case Expr::Kind::kDot:
        return dot;
      case Expr::Kind::kVariable:
        return slots_[expr.slot];
      case Expr::Kind::kField: {
        ASSIGN_OR_RETURN(const Value base, Evaluate(*expr.arguments[0], dot));
        return Field(expr, base);
      }
      case Expr::Kind::kAnd:
      case Expr::Kind::kOr: {
        Value value;
        for (const ExprPtr& argument : expr.arguments) {
          ASSIGN_OR_RETURN(value, Evaluate(*argument, dot));
          if (IsTrue(value, input_) == (expr.kind == Expr::Kind::kOr)) break;
        }
        return value;
      }
      case Expr::Kind::kCall:
        break;
    }
    absl::InlinedVector<Value, 4> arguments;
    for (const ExprPtr& argument : expr.arguments) {
      ASSIGN_OR_RETURN(Value value, Evaluate(*argument, dot));
      if (std::holds_alternative<MapKind>(value) && Prints(*expr.function)) value = Text(value);
      arguments.push_back(std::move(value));
    }
    StatusOr<Value> result = expr.function->call({&input_}, arguments);
    if (!result.ok()) {
      return Error(
          expr, Cat("error calling ", expr.function->name, ": ", ToStd(result.status().message())));
    }
    // A template that doubles a string again and again must not eat the memory.
    const auto* text = std::get_if<std::string>(&*result);
    if (text != nullptr && text->size() > kMaxOutput) return TooLong();
    return result;
  }

  static bool Prints(const TemplateFunction& f) {
    return f.name == "print" || f.name == "println" || f.name == "printf" || f.name == "html" ||
           f.name == "urlquery";
  }

  StatusOr<Value> Field(const Expr& expr, const Value& base) const {
    const std::string& name = expr.field;
    if (const auto* map = std::get_if<MapKind>(&base)) {
      switch (*map) {
        case MapKind::kLabels:
          return Value(std::string(input_.labels == nullptr ? "" : input_.labels->Get(name)));
        case MapKind::kEmpty:
          return Value(std::string());
        case MapKind::kParams:
          for (const auto& [key, number] : input_.params) {
            if (key == name) return Value(number);
          }
          return Error(expr, Cat("the rule has no parameter ", Quote(name)));
        case MapKind::kRoot:
          if (name == "Labels") return Value(MapKind::kLabels);
          if (name == "ExternalLabels") return Value(MapKind::kEmpty);
          if (name == "ExternalURL") return Value(std::string());
          if (name == "Value") return Value(input_.value);
          break;
      }
    }
    return Error(expr, Cat("can't evaluate field ", name, " in type ", GoType(base)));
  }

  const TemplateBody& body_;
  const TemplateInput& input_;
  std::vector<Value> slots_;
  std::string out_;
};

}  // namespace

bool IsTrue(const Value& value, const TemplateInput& input) {
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* i = std::get_if<int64_t>(&value)) return *i != 0;
  if (const auto* d = std::get_if<double>(&value)) return *d != 0;
  if (const auto* s = std::get_if<std::string>(&value)) return !s->empty();
  if (const auto* map = std::get_if<MapKind>(&value)) {
    switch (*map) {
      case MapKind::kRoot:
        return true;
      case MapKind::kLabels:
        return input.labels != nullptr && !input.labels->empty();
      case MapKind::kParams:
        return !input.params.empty();
      case MapKind::kEmpty:
        return false;
    }
  }
  return false;
}

StatusOr<std::string> Template::TryExpand(const TemplateInput& input) const {
  if (body_ == nullptr) return std::string();
  return Executor(*body_, input).Run();
}

std::string Template::Expand(const TemplateInput& input) const {
  StatusOr<std::string> text = TryExpand(input);
  if (text.ok()) return *std::move(text);
  return Cat("<error expanding template: ", ToStd(text.status().message()), ">");
}

}  // namespace pitwall::alert
