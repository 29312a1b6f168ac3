// Parsed form of a template. Private to rules/templates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/templates/go_format.h"
#include "rules/templates/template.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {

// Slots for predefined variables.
enum BuiltinSlot : uint32_t {
  kRootSlot,  // $
  kLabelsSlot,
  kExternalLabelsSlot,
  kExternalUrlSlot,
  kValueSlot,
  kParamsSlot,
  kStepSlot,
  kBuiltinSlots,
};

struct FunctionContext {
  const TemplateInput* input = nullptr;
};

struct TemplateFunction {
  std::string_view name;
  int min_arguments;
  int max_arguments;  // -1 means no limit
  StatusOr<Value> (*call)(const FunctionContext&, std::span<const Value>);
};
// Returns null if the name is unknown. `and` and `or` are not in the table, because they evaluate
// their arguments one at a time (see kAnd and kOr).
const TemplateFunction* FindFunction(std::string_view name);
// Returns the reason why a Prometheus function is not supported, or "" if Prometheus has no
// function with that name.
std::string_view WhyNotSupported(std::string_view name);

// Returns the functions that operate on query results (value_functions.cc), such as value, label,
// and first.
std::span<const TemplateFunction> QueryFunctions();

bool IsTrue(const Value& value, const TemplateInput& input);

struct Expr {
  enum class Kind { kLiteral, kDot, kVariable, kField, kCall, kAnd, kOr, kQuery };
  Kind kind = Kind::kLiteral;
  Value literal;
  uint32_t slot = 0;  // kVariable: slot; kQuery: index into TemplateBody::queries
  std::string field;  // kField: field of arguments[0]
  const TemplateFunction* function = nullptr;
  std::vector<std::unique_ptr<Expr>> arguments;
  size_t at = 0;  // byte offset
  int line = 0, column = 0;
  std::string text;  // source text, for messages
};
using ExprPtr = std::unique_ptr<Expr>;

struct Block;

struct Statement {
  enum class Kind {
    kText,
    kPrint,
    kSet,
    kIf,
    kWith,
    kRange,
    kTemplate,  // executes the template named `text`; the result of `expr`, if any, becomes its dot
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kText;
  std::string text;
  ExprPtr expr;
  uint32_t slot = 0;  // for kSet, and for kIf, kWith, and kRange with `has_slot`
  bool has_slot = false;
  uint32_t key_slot = 0;  // for kRange with `has_key`
  bool has_key = false;
  size_t at = 0;  // for kTemplate: byte offset
  std::unique_ptr<Block> then, otherwise;
};

struct Block {
  std::vector<Statement> statements;
};

struct TemplateBody {
  std::string name;
  Block block;
  uint32_t slots = kBuiltinSlots;
  bool varies = false;
  bool constant = true;
  std::vector<std::string> parameters;
  std::vector<LabelUse> labels;
  std::vector<TemplateQuery> queries;
  StringMap<Block> templates;  // templates defined by {{define}}
};

}  // namespace pitwall::templates
