// Rule sets of the compacted topic pitwall.rules, compiled once per hash.
#pragma once

#include <memory>
#include <string>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/codec/rule_set_codec.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"

namespace pitwall::processor {

// Thread-safe.
class RuleSets final : public engine::RuleSetProvider {
 public:
  // `log` is borrowed. The topic must exist.
  explicit RuleSets(Log* log) : log_(log) {}

  // Writes a compiled set to the topic if it is missing; for a set with parameters of jobs, first
  // the set without them.
  Status Publish(engine::CompiledRulesPtr rules);
  // Returns the set from memory or from the topic. NotFound contains the hash.
  StatusOr<engine::CompiledRulesPtr> Load(const std::string& hash) override;

 private:
  Status Write(const RuleSet& rules, const std::string& hash);
  StatusOr<RuleSet> Find(const std::string& hash, bool layered = true);
  engine::CompiledRulesPtr Keep(engine::CompiledRulesPtr compiled);

  Log* const log_;
  Mutex mutex_;
  // Sets in use by a job, and the newest published one.
  StringMap<std::weak_ptr<const engine::CompiledRules>> compiled_ ABSL_GUARDED_BY(mutex_);
  engine::CompiledRulesPtr newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
