// Rule set in the form that the engine uses: the source text and the compiled program. Each rule
// set is compiled only once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rules/plan/compile.h"
#include "services/base/status.h"
#include "services/engine/program/event_sink.h"
#include "services/model/rule_set.h"

namespace pitwall::engine {

class CompiledRules;
using CompiledRulesPtr = std::shared_ptr<const CompiledRules>;

// Immutable; shared by all jobs and threads.
class CompiledRules final {
 public:
  // Compiles the rule set. If a file does not compile, returns InvalidArgument with every error as
  // file:line:col. `diagnostics` (may be null) receives all errors and warnings.
  static StatusOr<CompiledRulesPtr> Compile(RuleSet rules, const plan::CompileOptions& options = {},
                                            lang::Diagnostics* diagnostics = nullptr);
  // Like Compile, but for a new rule set. Also rejects rules that could never have a status other
  // than Error.
  static StatusOr<CompiledRulesPtr> Accept(RuleSet rules, const plan::CompileOptions& options = {},
                                           lang::Diagnostics* diagnostics = nullptr);

  const RuleSet& text() const { return text_; }
  // Hash that identifies the rule set on pitwall.rules, in control records, and in output for
  // users.
  const std::string& hash() const { return program_->hash; }
  const plan::ProgramPtr& program() const { return program_; }
  // Returns the job's program. If the job has overrides, returns a variant with their matcher texts
  // and window lengths. Variants for single overrides are compiled with the rule set; a variant for
  // several overrides is compiled when the job arrives.
  plan::ProgramPtr ProgramFor(const JobIdentity& job) const;
  // Returns the job's parameters in one domain, including overrides.
  std::vector<double> ParametersFor(size_t domain, const JobIdentity& job) const;
  // Returns the job's value for one of the rule's user-settable parameters. For an alert, this
  // includes the parameters of the first recording rule that the alert reads. Returns errors from
  // plan::MatchingNumbers.
  StatusOr<double> ValueFor(std::string_view rule, std::string_view parameter,
                            const JobIdentity& job) const;

 private:
  CompiledRules(RuleSet text, plan::ProgramPtr program)
      : text_(std::move(text)), program_(std::move(program)) {}

  StatusOr<plan::ProgramPtr> Variant(const lang::JobRegistry& bindings) const;

  const RuleSet text_;
  const plan::ProgramPtr program_;
  mutable std::mutex mutex_;
  // Variants for single overrides; immutable after Compile.
  std::map<lang::JobRegistry, plan::ProgramPtr> variants_;
  // Variants for several overrides. A variant exists while a job uses it.
  mutable std::map<lang::JobRegistry, std::weak_ptr<const plan::Program>> combined_;
};

// Lookup of compiled rule sets by hash.
class RuleSetProvider {
 public:
  virtual ~RuleSetProvider() = default;
  // Returns the rule set; never null if OK. After an error, the partition waits and retries,
  // because continuing without the rules would change verdicts.
  virtual StatusOr<CompiledRulesPtr> Load(const std::string& hash) = 0;
};

// Provider that returns the same rules for every hash.
class FixedRules final : public RuleSetProvider {
 public:
  explicit FixedRules(CompiledRulesPtr rules) : rules_(std::move(rules)) {}
  StatusOr<CompiledRulesPtr> Load(const std::string& /*hash*/) override { return rules_; }

 private:
  const CompiledRulesPtr rules_;
};

}  // namespace pitwall::engine
