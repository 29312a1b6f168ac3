// Fuzzes a rule file, followed by overrides after a line "%%". Either it compiles or its errors
// have positions. The result is deterministic.
#include <cstdint>
#include <string_view>

#include "rules/plan/compile.h"
#include "rules/plan/cost/program_text.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kSeparator = "\n%%\n";
  const size_t cut = text.find(kSeparator);
  RuleSet rule_set;
  rule_set.files.push_back({"fuzz.yaml", std::string(text.substr(0, cut))});
  if (cut != std::string_view::npos) {
    rule_set.overrides =
        RuleSetFile{"overrides.yaml", std::string(text.substr(cut + kSeparator.size()))};
  }
  lang::Diagnostics diagnostics;
  const StatusOr<plan::ProgramPtr> program = plan::CompileRuleSet(rule_set, &diagnostics);
  PITWALL_CHECK(program.ok() != diagnostics.HasErrors());
  diagnostics.ToString();
  if (!program.ok()) return 0;
  const std::string explained = plan::Explain(**program);
  for (const plan::DomainPlan& domain : (*program)->domains) {
    for (size_t i = 0; i < domain.nodes.size(); ++i) {
      for (const plan::NodeId input : domain.nodes[i].inputs) PITWALL_CHECK(input.index() < i);
    }
    const std::vector<double> values = plan::ParametersFor(**program, domain, "job", "name", {});
    PITWALL_CHECK(values.size() == domain.parameters.size());
  }
  const StatusOr<plan::ProgramPtr> again = plan::CompileRuleSet(rule_set);
  PITWALL_CHECK(again.ok() && plan::Explain(**again) == explained);
  return 0;
}
