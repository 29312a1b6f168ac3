// A rule file: Prometheus' groups and rules, strict as Prometheus is, plus our keys
// (architecture.md, section 5).
//
// What is in the file, parsed and with every value in range; whether the expressions make sense
// is rules/check's matter. Durations are position units (model/position.h): nanoseconds, or steps *
// kStepUnit on the step clock, where they are written as plain numbers.
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

// An expression with its text. `expr` is null when it did not parse (which is then in the
// diagnostics).
struct ExprText {
  Source source;
  ExprPtr expr;
};

// A named text: a label, an annotation. `source` maps places inside the text.
struct NamedText {
  std::string name;
  Position name_position;
  Source source;
  const std::string& text() const { return source.text(); }
};

// `name: 10`, or `name: {value: 10, unit: percent, help: below this a GPU idles}`.
struct ParameterText {
  std::string name;
  std::string text;  // as written; the value of a matcher may be any text
  double value = 0;
  std::string unit;
  std::string help;
  Position position;
};

// Which issues an issue of the rule explains: those of `alert` (its name, in any pack) in the same
// job whose labels named in `equal` have the values that this have. Where both name a rank
// or a node, these must be equal too, unless `job_wide`: a slow rank makes other ranks wait, but is
// never why another one is slow. `lag`: how much earlier (ns) a symptom may begin than its cause;
// absent: the engine's. `within`: how much earlier (ns) than its symptom a cause may begin or rise;
// absent: without a limit.
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

// A label in which the elements of one issue may differ.
struct FoldText {
  std::string label;
  Position position;
};

enum class Scope { kJob, kAttempt };

struct RuleText {
  bool alert = true;  // else a recording rule
  std::string name;   // of the alert, or the recorded metric
  Position name_position;
  Position position;  // of the rule
  ExprText expr;
  std::optional<ExprText> clear;
  int64_t hold = 0;  // for
  Position hold_position;
  int64_t keep_firing = 0;
  int64_t unsteady_ns = 0;  // of event time, whatever the clock
  std::optional<Scope> scope;
  std::vector<ParameterText> parameters;
  std::optional<std::vector<NeedText>> needs;
  std::vector<ExplainsText> explains;
  std::vector<FoldText> fold;
  std::vector<NamedText> labels;  // in the order of the file, without the group's
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
  std::string mode;  // step clock only; "train" where absent
  bool align_job = false;
  int64_t unsteady_ns = 0;  // of alerts that say nothing of it
  std::vector<NamedText> labels;
  std::vector<RuleText> rules;
};

struct RuleFile {
  yaml::FileTextPtr file;
  std::string pack;  // the file's stem
  std::vector<GroupText> groups;
};

using RuleFilePtr = std::shared_ptr<const RuleFile>;

// Always a file, with what could be read; everything wrong is in `diagnostics`. A rule without a
// usable expression stays in the list, so that the rest of it is checked too.
RuleFilePtr ParseRuleFile(std::string_view file_name, std::string_view text,
                          Diagnostics* diagnostics);

// "dir/bottleneck.yaml" -> "bottleneck".
std::string PackName(std::string_view file_name);

}  // namespace pitwall::lang
