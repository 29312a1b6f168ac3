// A rule set as the engine runs it: its text and the program it was compiled to, together, so that
// it is compiled once wherever it goes.
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
  // InvalidArgument with every error as file:line:col when a file does not compile; `diagnostics`
  // (may be null) gets them all, and the warnings.
  static StatusOr<CompiledRulesPtr> Compile(RuleSet rules, const plan::CompileOptions& options = {},
                                            lang::Diagnostics* diagnostics = nullptr);
  // The same for a set that is new: rules that could only have the status Error are refused too.
  static StatusOr<CompiledRulesPtr> Accept(RuleSet rules, const plan::CompileOptions& options = {},
                                           lang::Diagnostics* diagnostics = nullptr);

  const RuleSet& text() const { return text_; }
  // Its name everywhere: on pitwall.rules, in control records, in what people read.
  const std::string& hash() const { return program_->hash; }
  const plan::ProgramPtr& program() const { return program_; }
  // The program by which a job is judged: the variant with the texts of matchers and lengths of
  // windows that overrides give it, else program(). Those of single overrides are compiled with the
  // set; a job that several of them match has its own compiled when it comes.
  plan::ProgramPtr ProgramFor(const JobIdentity& job) const;
  // The parameters of one job in one domain, overrides included.
  std::vector<double> ParametersFor(size_t domain, const JobIdentity& job) const;
  // The value that the job has of one, which a person may set: of the rule itself or, of an alert,
  // of the first recording rule that it reads. Errors are those of plan::NumbersMeant.
  StatusOr<double> ValueFor(std::string_view rule, std::string_view parameter,
                            const JobIdentity& job) const;

 private:
  CompiledRules(RuleSet text, plan::ProgramPtr program)
      : text_(std::move(text)), program_(std::move(program)) {}

  StatusOr<plan::ProgramPtr> Variant(const lang::JobRegistry& bindings) const;

  const RuleSet text_;
  const plan::ProgramPtr program_;
  mutable std::mutex mutex_;
  // Immutable after Compile: those of single overrides.
  std::map<lang::JobRegistry, plan::ProgramPtr> variants_;
  // Of several overrides together; as long as a job has it.
  mutable std::map<lang::JobRegistry, std::weak_ptr<const plan::Program>> combined_;
};

// Finds compiled rule sets by their hash.
class RuleSetProvider {
 public:
  virtual ~RuleSetProvider() = default;
  // Never null when OK. An error stops the partition until it goes away: going on without would
  // change verdicts.
  virtual StatusOr<CompiledRulesPtr> Load(const std::string& hash) = 0;
};

// The same rules whatever is asked for.
class FixedRules final : public RuleSetProvider {
 public:
  explicit FixedRules(CompiledRulesPtr rules) : rules_(std::move(rules)) {}
  StatusOr<CompiledRulesPtr> Load(const std::string& /*hash*/) override { return rules_; }

 private:
  const CompiledRulesPtr rules_;
};

}  // namespace pitwall::engine
