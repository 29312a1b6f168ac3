// Reading of rule files and shipped packs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/engine/program/compiled_rules.h"

namespace pitwall {

// Prefix of shipped packs. "pack:NAME" is rules/packs/NAME.yaml, which is built into the binary.
inline constexpr std::string_view kPackPrefix = "pack:";

// Pack that is used without rules.
inline constexpr std::string_view kDefaultPack = "default";

// Returns the sorted names of the shipped packs.
std::vector<std::string> PackNames();
// Returns a shipped pack, or NotFound with the nearest name.
StatusOr<RuleSetFile> ShippedPack(std::string_view name);

struct RuleSetPaths {
  std::vector<std::string> files;      // or shipped packs; empty: the default pack
  std::string overrides;               // "": none
  std::vector<std::string> baselines;  // summaries of finished jobs, or directories with *.yaml
};

// Reads all files with the rules that they include (rules/lang/files/include.h). `inclusions`
// receives the inclusions and may be null. Logs the use of the default pack. Of the summaries for
// the same jobs only the newest plan::kMaxRunsPerJob are read, because the others would have no
// effect.
StatusOr<RuleSet> ReadRuleSet(const RuleSetPaths& paths, int64_t evaluation_interval_ns,
                              std::vector<lang::Inclusion>* inclusions = nullptr);

// Reads and compiles new rule sets. Rules beyond a limit are errors, whereas rule sets in the log
// are loaded without limits.
StatusOr<engine::CompiledRulesPtr> CompileNewRules(const RuleSetPaths& paths,
                                                   int64_t evaluation_interval_ns,
                                                   const plan::CompileOptions& options);

}  // namespace pitwall
