// Rule sets stored on the compacted topic pitwall.rules. Each rule set is compiled only once per
// hash.
#pragma once

#include <memory>
#include <string>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/codec/rule_set_codec.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"

namespace pitwall::processor {

// Cache of compiled rule sets. Thread-safe.
class RuleSets final : public engine::RuleSetProvider {
 public:
  // `log` must outlive this object. The topic must exist.
  explicit RuleSets(Log* log) : log_(log) {}

  // Writes a compiled rule set to the topic if the topic does not contain it. If the rule set has
  // job parameters, the base set without the parameters is written first.
  Status Publish(engine::CompiledRulesPtr rules);
  // Returns the rule set from memory or from the topic. A NotFound error contains the hash.
  StatusOr<engine::CompiledRulesPtr> Load(const std::string& hash) override;

 private:
  Status Write(const RuleSet& rules, const std::string& hash);
  StatusOr<RuleSet> Find(const std::string& hash, bool layered = true);
  engine::CompiledRulesPtr Keep(engine::CompiledRulesPtr compiled);

  Log* const log_;
  Mutex mutex_;
  // Rule sets in use by at least one job, and the last published rule set.
  StringMap<std::weak_ptr<const engine::CompiledRules>> compiled_ ABSL_GUARDED_BY(mutex_);
  engine::CompiledRulesPtr newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
