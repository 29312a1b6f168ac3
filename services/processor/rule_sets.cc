#include "services/processor/rule_sets.h"

#include "services/base/clock.h"
#include "services/io/partition_scan.h"
#include "services/io/topics.h"

namespace pitwall::processor {

// Describes the contents of a rule set whose record is too large.
static std::string SizesOf(const RuleSet& rules) {
  size_t files = 0;
  size_t baselines = 0;
  for (const RuleSetFile& file : rules.files) files += file.text.size();
  for (const RuleSetFile& file : rules.baselines) baselines += file.text.size();
  return Cat("rule set with ", rules.files.size(), " rule files of ",
             FormatBytes(static_cast<double>(files)), " and ", rules.baselines.size(),
             " summaries of finished jobs of ", FormatBytes(static_cast<double>(baselines)),
             " (`pitwall baseline --max-bytes` creates smaller ones)");
}

Status RuleSets::Write(const RuleSet& rules, const std::string& hash) {
  if (Find(hash).ok()) return OkStatus();
  if (!rules.job_parameters.empty()) {
    RuleSet base = rules;
    base.job_parameters.clear();
    RETURN_IF_ERROR(Write(base, RuleSetHash(base)));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log_->OpenAppender());
  return Annotate(appender->Append({{.topic = std::string(kRulesTopic),
                                     .partition = 0,
                                     .key = hash,
                                     .value = codec::EncodeRuleSet(rules)}}),
                  SizesOf(rules));
}

Status RuleSets::Publish(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(Write(rules->text(), rules->hash()));
  rules = Keep(std::move(rules));
  MutexLock lock(&mutex_);
  newest_ = std::move(rules);
  return OkStatus();
}

StatusOr<engine::CompiledRulesPtr> RuleSets::Load(const std::string& hash) {
  {
    MutexLock lock(&mutex_);
    if (const auto it = compiled_.find(hash); it != compiled_.end()) {
      if (engine::CompiledRulesPtr known = it->second.lock()) return known;
    }
  }
  ASSIGN_OR_RETURN(RuleSet rules, Find(hash));
  ASSIGN_OR_RETURN(engine::CompiledRulesPtr compiled,
                   engine::CompiledRules::Compile(std::move(rules)));
  return Keep(std::move(compiled));
}

// If two threads compile the same rule set, all jobs share one of the two copies.
engine::CompiledRulesPtr RuleSets::Keep(engine::CompiledRulesPtr compiled) {
  MutexLock lock(&mutex_);
  absl::erase_if(compiled_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const engine::CompiledRules>& kept = compiled_[compiled->hash()];
  if (engine::CompiledRulesPtr known = kept.lock()) return known;
  kept = compiled;
  return compiled;
}

// A rule set with job parameters refers to the base rule set without the parameters.
StatusOr<RuleSet> RuleSets::Find(const std::string& hash, bool layered) {
  codec::FindBase find_base;
  if (layered) find_base = [this](const std::string& base) { return Find(base, false); };
  // Each start republishes its rule set, so an intact copy of a corrupt record may exist.
  std::string damage;  // error for the last corrupt record
  ASSIGN_OR_RETURN(PartitionScan scan,
                   PartitionScan::Open(log_, {std::string(kRulesTopic), 0}, kFromStart,
                                       {.max_records = 64, .on_loss = [&](const Status& lost) {
                                          damage = std::string(ToStd(lost.message()));
                                        }}));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    if (record->key != hash || record->tombstone) continue;
    StatusOr<RuleSet> rules = codec::DecodeRuleSet(record->value, find_base);
    if (rules.ok() && RuleSetHash(*rules) == hash) return rules;
    damage = Cat("record at offset ", record->offset, ": ",
                 rules.ok() ? "rule set has a different hash" : ToStd(rules.status().message()));
  }
  if (damage.empty()) return NotFound(Cat(kRulesTopic, ": rule set ", hash, " is missing"));
  return DataLoss(Cat(kRulesTopic, ": rule set ", hash, " is missing or damaged (", damage,
                      "); start with the same rule files to rewrite it"));
}

}  // namespace pitwall::processor
