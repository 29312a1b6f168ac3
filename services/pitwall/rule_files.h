// Rule files as the commands are given them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/files/include.h"
#include "services/engine/program/compiled_rules.h"

namespace pitwall {

// "pack:NAME" stands for a shipped pack, which is built into the binary from rules/packs/NAME.yaml.
inline constexpr std::string_view kPackPrefix = "pack:";

// What runs where no rules are given.
inline constexpr std::string_view kDefaultPack = "default";

// The names of the shipped packs, sorted.
std::vector<std::string> PackNames();
// NotFound names the nearest pack.
StatusOr<RuleSetFile> ShippedPack(std::string_view name);

struct RuleSetPaths {
  std::vector<std::string> files;  // and shipped packs; none: the default pack
  std::string overrides;           // "": none
  std::vector<std::string>
      baselines;  // summaries of finished jobs, and folders with *.yaml of them
};

// Reads them all, with the rules that they include (rules/lang/files/include.h), of which
// `inclusions` is told (may be null). That the default pack is taken is said on stderr. Of the
// summaries that are for the same jobs, the newest plan::kMaxRunsPerJob are taken; the others would
// count for none.
StatusOr<RuleSet> ReadRuleSet(const RuleSetPaths& paths, int64_t evaluation_interval_ns,
                              std::vector<lang::Inclusion>* inclusions = nullptr);

// Reads and compiles them. The entry of new rule sets: limits that rules cross are errors,
// while those that the log has already are loaded without limits.
StatusOr<engine::CompiledRulesPtr> CompileNewRules(const RuleSetPaths& paths,
                                                   int64_t evaluation_interval_ns,
                                                   const plan::CompileOptions& options);

}  // namespace pitwall
