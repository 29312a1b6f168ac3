// Rule sets as they stand on the compacted topic pitwall.rules, compiled once per hash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rules/plan/compile.h"
#include "services/base/mutex.h"
#include "services/base/strings.h"
#include "services/codec/rule_set_codec.h"
#include "services/engine/shard.h"
#include "services/pipeline/io.h"

namespace pitwall::processor {

// The texts of a rule set, as the compiler takes them.
plan::RuleSetText RuleSetTextOf(const codec::RuleSet& rules);

// A compiled rule set with its overrides. Immutable.
class CompiledRules final : public engine::RuleSetView {
 public:
  // InvalidArgument with every error as file:line:col when a rule file does not compile.
  static StatusOr<std::shared_ptr<const CompiledRules>> Compile(
      const codec::RuleSet& rules, const plan::CompileOptions& options = {});
  // The same for a set that is new: rules that could only have the status Error are refused too.
  static StatusOr<std::shared_ptr<const CompiledRules>> Accept(
      const codec::RuleSet& rules, const plan::CompileOptions& options = {});
  plan::ProgramPtr program() const override { return program_; }
  std::vector<double> ParametersFor(size_t space, const engine::JobIdentity& job) const override;

 private:
  plan::ProgramPtr program_;
};

// Thread-safe.
class RuleSets final : public engine::RuleSetProvider {
 public:
  // `log` is borrowed. The topic must exist.
  explicit RuleSets(Log* log) : log_(log) {}

  // Accepts, and writes the set to the topic unless it stands there. Returns its hash.
  StatusOr<std::string> Publish(const codec::RuleSet& rules);
  // From memory, else from the topic. NotFound names the hash.
  StatusOr<std::shared_ptr<const engine::RuleSetView>> Load(const std::string& hash) override;

 private:
  StatusOr<codec::RuleSet> Find(const std::string& hash);

  Log* const log_;
  Mutex mutex_;
  std::shared_ptr<const CompiledRules> Keep(const std::string& hash,
                                            std::shared_ptr<const CompiledRules> compiled);
  // Those that some job still refers to, and the newest published.
  StringMap<std::weak_ptr<const CompiledRules>> compiled_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const CompiledRules> newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
