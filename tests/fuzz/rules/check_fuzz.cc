// Fuzzes the checker and planner without YAML. An expression, a second expression as `clear`, and a
// template form one rule. The rule must compile, or the errors must have positions within the text.
// A compiled rule has an estimate, a plan with inputs before their nodes, and an explanation. The
// result is deterministic.
//
//   bytes: one for options, then lines: expression, clear (may be empty), annotation
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "rules/plan/compile.h"
#include "rules/plan/cost/program_text.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"

namespace {

// Returns a YAML scalar that parses to this text.
std::string Scalar(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      pitwall::CatTo(out, "\\x", pitwall::Hex(std::string_view(&c, 1)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  if (size < 2) return 0;
  const uint8_t options = data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto line = [&rest] {
    const size_t end = rest.find('\n');
    const std::string_view out = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return out;
  };
  const std::string_view expr = line(), clear = line(), annotation = line();
  constexpr std::string_view kIntervals[] = {"1s", "100ms", "1m", "1h"};
  const bool step = (options & 4) != 0;
  const bool record = (options & 8) != 0;
  std::string text =
      Cat("groups:\n- name: g\n  interval: ", step ? "1" : kIntervals[options & 3],
          step ? "\n  clock: step" : "", "\n  rules:\n  - ", record ? "record: r" : "alert: A",
          "\n    params: {p: 3}\n    expr: ", Scalar(expr), "\n");
  if (!record && !clear.empty()) CatTo(text, "    clear: ", Scalar(clear), "\n");
  if (!record && (options & 16) != 0) CatTo(text, "    for: ", step ? "5" : "5s", "\n");
  if (!record && !annotation.empty())
    CatTo(text, "    annotations: {summary: ", Scalar(annotation), "}\n");

  const RuleSet rule_set{.files = {{"fuzz.yaml", text}}};
  const plan::RuleLimits limits;
  lang::Diagnostics diagnostics;
  const StatusOr<plan::ProgramPtr> program = plan::CompileRuleSet(
      rule_set, &diagnostics, {.limits = (options & 32) != 0 ? &limits : nullptr});
  PITWALL_CHECK(program.ok() != diagnostics.HasErrors());
  for (const lang::Diagnostic& diagnostic : diagnostics.list()) {
    PITWALL_CHECK(diagnostic.line >= 1 && diagnostic.column >= 1 && !diagnostic.message.empty());
    diagnostic.ToString();
  }
  if (!program.ok()) return 0;
  for (const plan::DomainPlan& domain : (*program)->domains) {
    for (size_t i = 0; i < domain.nodes.size(); ++i) {
      for (const plan::NodeId input : domain.nodes[i].inputs) PITWALL_CHECK(input.index() < i);
    }
  }
  const plan::ProgramCost cost = plan::EstimateCost(**program);
  for (const plan::RuleCost& rule : cost.rules) {
    PITWALL_CHECK(rule.state_bytes >= 0 && std::isfinite(rule.state_bytes));
    PITWALL_CHECK(rule.work_ns >= 0 && std::isfinite(rule.work_ns));
  }
  engine::ProblemsOf(**program);
  if ((options & 64) == 0) return 0;
  const std::string explained = plan::Explain(**program);
  const StatusOr<plan::ProgramPtr> again = plan::CompileRuleSet(rule_set);
  PITWALL_CHECK(again.ok() && plan::Explain(**again) == explained);
  return 0;
}
