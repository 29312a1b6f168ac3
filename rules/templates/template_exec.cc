#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "rules/templates/template_tree.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

constexpr size_t kMaxOutput = 64 * 1024;
// Maximum work per expansion, so that nested loops terminate: the number of bytes written or read,
// plus a constant per step. An expansion that reaches the maximum takes tens of milliseconds.
constexpr size_t kMaxWork = 16 << 20;
constexpr size_t kStepWork = 64;
constexpr size_t kPatternWork = 32 * 1024;  // a pattern is compiled on each call
constexpr int kMaxCalls = 100;              // maximum depth of nested templates

class Executor {
 public:
  Executor(const TemplateBody& body, const TemplateInput& input,
           const std::vector<uint32_t>& query_ids)
      : body_(body), input_(input), query_ids_(query_ids), slots_(body.slots) {
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

  Status Spend(size_t work) {
    work_ += work;
    if (work_ <= kMaxWork) return OkStatus();
    return ResourceExhausted(
        Cat("error executing template ", body_.name, ": exceeded the maximum number of steps"));
  }

  enum class Flow { kOn, kBreak, kContinue };

  Status RunBlock(const Block& block, const Value& dot) {
    for (const Statement& s : block.statements) {
      RETURN_IF_ERROR(Spend(kStepWork));
      switch (s.kind) {
        case Statement::Kind::kText:
          out_ += s.text;
          break;
        case Statement::Kind::kBreak:
          flow_ = Flow::kBreak;
          return OkStatus();
        case Statement::Kind::kContinue:
          flow_ = Flow::kContinue;
          return OkStatus();
        case Statement::Kind::kTemplate:
          RETURN_IF_ERROR(Call(s, dot));
          break;
        default: {
          ASSIGN_OR_RETURN(Value value, Evaluate(*s.expr, dot));
          RETURN_IF_ERROR(RunWith(s, std::move(value), dot));
          break;
        }
      }
      if (out_.size() > kMaxOutput) return TooLong();
      if (flow_ != Flow::kOn) return OkStatus();
    }
    return OkStatus();
  }

  Status RunWith(const Statement& s, Value value, const Value& dot) {
    switch (s.kind) {
      case Statement::Kind::kPrint:
        out_ += Text(value);
        return OkStatus();
      case Statement::Kind::kSet:
        slots_[s.slot] = std::move(value);
        return OkStatus();
      case Statement::Kind::kRange:
        return Range(s, value, dot);
      default: {
        const bool yes = IsTrue(value, input_);
        const Value inner = s.kind == Statement::Kind::kWith && yes ? value : dot;
        if (s.has_slot) slots_[s.slot] = std::move(value);
        const Block* branch = yes ? s.then.get() : s.otherwise.get();
        return branch == nullptr ? OkStatus() : RunBlock(*branch, inner);
      }
    }
  }

  // Executes {{template}}. The called template has its own root and no access to the caller's
  // variables.
  Status Call(const Statement& s, const Value& dot) {
    Value argument;
    if (s.expr != nullptr) {
      ASSIGN_OR_RETURN(argument, Evaluate(*s.expr, dot));
    }
    if (++calls_ > kMaxCalls) {
      return ResourceExhausted(Cat("error executing template ", body_.name,
                                   ": exceeded maximum template depth (", kMaxCalls, ")"));
    }
    size_t copied = slots_.size() * kStepWork;
    for (const Value& value : slots_) copied += BytesOf(value);
    RETURN_IF_ERROR(Spend(copied));
    std::vector<Value> outer = slots_;
    slots_[kRootSlot] = argument;
    RETURN_IF_ERROR(RunBlock(body_.templates.find(s.text)->second, argument));
    slots_ = std::move(outer);
    --calls_;
    return OkStatus();
  }

  Status Range(const Statement& s, const Value& over, const Value& dot) {
    bool any = false;
    bool stopped = false;
    const auto turn = [&](Value key, Value element) -> Status {
      any = true;
      RETURN_IF_ERROR(Spend(kStepWork));
      if (s.has_key) slots_[s.key_slot] = std::move(key);
      if (s.has_slot) slots_[s.slot] = element;
      RETURN_IF_ERROR(RunBlock(*s.then, element));
      stopped = flow_ == Flow::kBreak;
      flow_ = Flow::kOn;
      return OkStatus();
    };
    if (const auto* list = std::get_if<SampleList>(&over)) {
      for (size_t i = 0; i < list->samples->size() && !stopped; ++i)
        RETURN_IF_ERROR(turn(static_cast<int64_t>(i), SampleRef{list->samples, i}));
    } else if (const auto* n = std::get_if<int64_t>(&over)) {
      for (int64_t i = 0; i < *n && !stopped; ++i) RETURN_IF_ERROR(turn(i, i));
    } else if (const auto* arguments = std::get_if<Arguments>(&over)) {
      for (const auto& [name, index] : SortedNames(*arguments)) {
        if (!stopped) RETURN_IF_ERROR(turn(name, arguments->list->values[index]));
      }
    } else if (const std::optional<std::vector<std::pair<std::string, Value>>> map =
                   Entries(over)) {
      for (const auto& [key, value] : *map) {
        if (!stopped) RETURN_IF_ERROR(turn(key, value));
      }
    } else if (!std::holds_alternative<Nil>(over)) {
      return Error(*s.expr, Cat("range can't iterate over ", Text(over)));
    }
    if (any || s.otherwise == nullptr) return OkStatus();
    return RunBlock(*s.otherwise, dot);
  }

  // Sorts the names as Go sorts map keys, so arg10 comes before arg2.
  static std::vector<std::pair<std::string, size_t>> SortedNames(const Arguments& arguments) {
    std::vector<std::pair<std::string, size_t>> names;
    for (size_t i = 0; i < arguments.list->values.size(); ++i) names.emplace_back(Cat("arg", i), i);
    std::sort(names.begin(), names.end());
    return names;
  }

  // Returns the entries of a map ordered by key, or nullopt if the value is not a map.
  std::optional<std::vector<std::pair<std::string, Value>>> Entries(const Value& value) const {
    std::vector<std::pair<std::string, Value>> out;
    const auto labels = [&](const Labels& of) {
      for (const Label& label : of) out.emplace_back(label.name, label.value);
    };
    if (const auto* sample = std::get_if<SampleLabels>(&value)) {
      labels(sample->sample.get().labels);
      return out;
    }
    const auto* map = std::get_if<MapKind>(&value);
    if (map == nullptr || *map == MapKind::kRoot) return std::nullopt;
    if (*map == MapKind::kLabels && input_.labels != nullptr) labels(*input_.labels);
    if (*map == MapKind::kParams) {
      for (const auto& [name, number] : input_.params) out.emplace_back(name, number);
      std::sort(out.begin(), out.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    return out;
  }

  std::string Text(const Value& value) const {
    const auto sample = [&](const SampleRef& ref) {
      return Cat("{", Text(SampleLabels{ref}), " ", GoNumber(ref.get().value), "}");
    };
    if (const auto* ref = std::get_if<SampleRef>(&value)) return "&" + sample(*ref);
    if (const auto* list = std::get_if<SampleList>(&value)) {
      std::string out = "[";
      for (size_t i = 0; i < list->samples->size() && out.size() <= kMaxOutput; ++i)
        CatTo(out, i == 0 ? "" : " ", sample({list->samples, i}));
      return out + "]";
    }
    if (const auto* map = std::get_if<MapKind>(&value); map != nullptr && *map == MapKind::kRoot)
      return Cat("{", Text(MapKind::kLabels), " map[]  ", GoNumber(input_.value), "}");
    std::string out = "map[";
    if (const auto* arguments = std::get_if<Arguments>(&value)) {
      for (const auto& [name, index] : SortedNames(*arguments)) {
        if (out.size() > kMaxOutput) break;
        CatTo(out, out.size() == 4 ? "" : " ", name, ":", Text(arguments->list->values[index]));
      }
      return out + "]";
    }
    const auto entries = Entries(value);
    if (!entries) return GoText(value);
    for (const auto& [name, entry] : *entries)
      CatTo(out, out.size() == 4 ? "" : " ", name, ":", GoText(entry));
    return out + "]";
  }

  StatusOr<Value> Evaluate(const Expr& expr, const Value& dot) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
        return expr.literal;
      case Expr::Kind::kDot:
        RETURN_IF_ERROR(Spend(BytesOf(dot)));
        return dot;
      case Expr::Kind::kVariable:
        RETURN_IF_ERROR(Spend(BytesOf(slots_[expr.slot])));
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
      case Expr::Kind::kQuery: {
        if (input_.queries == nullptr) return Error(expr, "error calling query: there is no data");
        const uint32_t id = expr.slot < query_ids_.size() ? query_ids_[expr.slot] : expr.slot;
        auto result = input_.queries->Run(id);
        if (!result.ok())
          return Error(expr, Cat("error calling query: ", ToStd(result.status().message())));
        RETURN_IF_ERROR(Spend((*result)->size() * kStepWork));
        return Value(SampleList{*std::move(result)});
      }
      case Expr::Kind::kCall:
        break;
    }
    absl::InlinedVector<Value, 4> arguments;
    for (const ExprPtr& argument : expr.arguments) {
      ASSIGN_OR_RETURN(Value value, Evaluate(*argument, dot));
      if (IsMap(value) && Prints(*expr.function)) value = Text(value);
      arguments.push_back(std::move(value));
    }
    RETURN_IF_ERROR(Spend(WorkOf(expr, arguments)));
    StatusOr<Value> result = expr.function->call({&input_}, arguments);
    if (!result.ok()) {
      return Error(
          expr, Cat("error calling ", expr.function->name, ": ", ToStd(result.status().message())));
    }
    // A template that doubles a string repeatedly must not exhaust memory.
    const auto* text = std::get_if<std::string>(&*result);
    if (text != nullptr && text->size() > kMaxOutput) return TooLong();
    return result;
  }

  // Returns the work needed to copy the value.
  static size_t BytesOf(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? 0 : text->size();
  }

  static bool IsMap(const Value& value) {
    return std::holds_alternative<MapKind>(value) || value.index() >= Value(SampleList()).index();
  }

  static size_t WorkOf(const Expr& expr, std::span<const Value> arguments) {
    const std::string_view name = expr.function->name;
    size_t work = kStepWork + (name == "match" || name == "reReplaceAll" ? kPatternWork : 0);
    for (const Value& argument : arguments) {
      if (const auto* text = std::get_if<std::string>(&argument)) work += text->size();
      // Sorting copies the list first.
      if (const auto* list = std::get_if<SampleList>(&argument); list && name == "sortByLabel")
        work += list->samples->size() * kStepWork * 4;
    }
    return work;
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
    if (const auto* sample = std::get_if<SampleRef>(&base)) {
      if (name == "Labels") return Value(SampleLabels{*sample});
      if (name == "Value") return Value(sample->get().value);
    } else if (const auto* labels = std::get_if<SampleLabels>(&base)) {
      return Value(std::string(labels->sample.get().labels.Get(name)));
    } else if (const auto* arguments = std::get_if<Arguments>(&base)) {
      for (size_t i = 0; i < arguments->list->values.size(); ++i) {
        if (name == Cat("arg", i)) return arguments->list->values[i];
      }
      return Value(Nil());
    }
    return Error(expr, Cat("can't evaluate field ", name, " in type ", GoType(base)));
  }

  const TemplateBody& body_;
  const TemplateInput& input_;
  const std::vector<uint32_t>& query_ids_;
  std::vector<Value> slots_;
  std::string out_;
  size_t work_ = 0;
  int calls_ = 0;
  Flow flow_ = Flow::kOn;
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
  if (const auto* list = std::get_if<SampleList>(&value)) return !list->samples->empty();
  if (const auto* labels = std::get_if<SampleLabels>(&value))
    return !labels->sample.get().labels.empty();
  if (const auto* arguments = std::get_if<Arguments>(&value))
    return !arguments->list->values.empty();
  return std::holds_alternative<SampleRef>(value);
}

StatusOr<std::string> Template::TryExpand(const TemplateInput& input) const {
  if (body_ == nullptr) return std::string();
  return Executor(*body_, input, query_ids_).Run();
}

Template Template::WithQueries(std::vector<uint32_t> ids) const {
  Template out = *this;
  out.query_ids_ = std::move(ids);
  return out;
}

std::string Template::Expand(const TemplateInput& input) const {
  StatusOr<std::string> text = TryExpand(input);
  if (text.ok()) return *std::move(text);
  return Cat("<error expanding template: ", ToStd(text.status().message()), ">");
}

}  // namespace pitwall::templates
