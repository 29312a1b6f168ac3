// Readers for rule files and shipped packs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/engine/program/compiled_rules.h"

namespace pitwall {

// Prefix of shipped packs. "pack:NAME" refers to rules/packs/NAME.yaml, which is embedded in the
// binary.
inline constexpr std::string_view kPackPrefix = "pack:";

// Default pack, used if no rules are configured.
inline constexpr std::string_view kDefaultPack = "default";

// Returns the sorted names of the shipped packs.
std::vector<std::string> PackNames();
// Returns a shipped pack, or NotFound with the closest name as a suggestion.
StatusOr<RuleSetFile> ShippedPack(std::string_view name);

struct RuleSetPaths {
  std::vector<std::string> files;      // rule files or shipped packs; empty: use the default pack
  std::string overrides;               // "" if there are no overrides
  std::vector<std::string> baselines;  // summaries of finished jobs, or directories with *.yaml
};

// Reads all files and the rules that they include (rules/lang/files/include.h). `inclusions`
// receives the inclusions and may be null. Logs a message if the default pack is used. If several
// summaries match the same jobs, only the newest plan::kMaxRunsPerJob summaries are read, because
// the others would have no effect.
StatusOr<RuleSet> ReadRuleSet(const RuleSetPaths& paths, int64_t evaluation_interval_ns,
                              std::vector<lang::Inclusion>* inclusions = nullptr);

// Reads and compiles new rule sets. A rule that exceeds a limit is an error. The limits do not
// apply to rule sets loaded from the log.
StatusOr<engine::CompiledRulesPtr> CompileNewRules(const RuleSetPaths& paths,
                                                   int64_t evaluation_interval_ns,
                                                   const plan::CompileOptions& options);

}  // namespace pitwall
