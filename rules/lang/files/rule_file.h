// Parser for rule files: groups and rules as in Prometheus, with the same strictness, and Pitwall's
// additional keys (architecture.md, section 5).
//
// All parsed values are in range; rules/check validates the expressions. Durations are position
// units (model/position.h): nanoseconds, or steps * kStepUnit on the step clock, where durations
// are written as plain numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"

namespace pitwall::lang {

// Expression with its text. `expr` is null after a parse error; the diagnostics contain the error.
struct ExprText {
  Source source;
  ExprPtr expr;
};

// Named text of a label or an annotation. `source` maps offsets in the text to the file.
struct NamedText {
  std::string name;
  Position name_position;
  Source source;
  const std::string& text() const { return source.text(); }
};

// Parameter, written as `name: 10` or `name: {value: 10, unit: percent, help: below this a GPU
// idles}`.
struct ParameterText {
  std::string name;
  std::string text;  // as written; the value of a matcher may be any text
  double value = 0;
  std::string unit;
  std::string help;
  Position position;
};

// Issues explained by an issue of this rule. They are issues of the alert `alert`, in any pack, in
// the same job, with equal values of the labels in `equal`. If both issues name a rank or a node,
// these must also be equal, unless `job_wide` is set: a slow rank makes other ranks wait but never
// explains another slow rank. `lag` is the maximum time (ns) by which a symptom may begin before
// its cause; unset means the engine's default. `within` is the maximum time (ns) by which a cause
// may begin or rise before its symptom; unset means no limit.
struct ExplainsText {
  std::string alert;
  std::vector<std::string> equal;
  bool job_wide = false;
  std::optional<int64_t> lag;
  std::optional<int64_t> within;
  Position position;
};

struct NeedText {
  std::string metric;
  Position position;
};

// Label in which the elements of one issue may differ.
struct FoldText {
  std::string label;
  Position position;
};

enum class Scope { kJob, kAttempt };

struct RuleText {
  bool alert = true;  // false for a recording rule
  std::string name;   // name of the alert or the recorded metric
  Position name_position;
  Position position;  // position of the rule
  ExprText expr;
  std::optional<ExprText> clear;
  int64_t hold = 0;  // key `for`
  Position hold_position;
  int64_t keep_firing = 0;
  int64_t unsteady_ns = 0;  // event time on both clocks
  std::optional<Scope> scope;
  std::vector<ParameterText> parameters;
  std::optional<std::vector<NeedText>> needs;
  std::vector<ExplainsText> explains;
  std::vector<FoldText> fold;
  std::vector<NamedText> labels;  // in file order, without the group's labels
  std::vector<NamedText> annotations;
};

struct GroupText {
  std::string name;
  Position position;
  std::optional<int64_t> interval;
  std::optional<int64_t> query_offset;
  std::optional<int64_t> lookback;
  uint32_t limit = 0;
  bool step_clock = false;
  std::string mode;  // step clock only; default "train"
  bool align_job = false;
  int64_t unsteady_ns = 0;  // event time; default of the group's alerts
  std::vector<NamedText> labels;
  std::vector<RuleText> rules;
};

struct RuleFile {
  yaml::FileTextPtr file;
  std::string pack;  // stem of the file name
  std::vector<GroupText> groups;
};

using RuleFilePtr = std::shared_ptr<const RuleFile>;

// Parses a rule file. Always returns a file with the valid content, and reports all problems in
// `diagnostics`. A rule without a usable expression stays in the list, so that its other fields are
// checked.
std::shared_ptr<RuleFile> ParseRuleFile(std::string_view file_name, std::string_view text,
                                        Diagnostics* diagnostics);

// Returns "bottleneck" for "dir/bottleneck.yaml".
std::string PackName(std::string_view file_name);

}  // namespace pitwall::lang
