#include "services/processor/rule_sets.h"

#include "services/base/log.h"
#include "services/engine/program_check.h"
#include "services/pipeline/topics.h"

namespace pitwall::processor {

plan::RuleSetText RuleSetTextOf(const codec::RuleSet& rules) {
  plan::RuleSetText text;
  for (const codec::RuleFile& file : rules.files) text.files.push_back({file.name, file.content});
  if (rules.overrides.has_value())
    text.overrides = {rules.overrides->name, rules.overrides->content};
  for (const codec::RuleFile& file : rules.baselines)
    text.baselines.push_back({file.name, file.content});
  return text;
}

StatusOr<std::shared_ptr<const CompiledRules>> CompiledRules::Compile(
    const codec::RuleSet& rules, const plan::CompileOptions& options) {
  lang::Diagnostics diagnostics;
  auto compiled = std::make_shared<CompiledRules>();
  ASSIGN_OR_RETURN(compiled->program_,
                   plan::CompileRuleSet(RuleSetTextOf(rules), rules.evaluation_interval_ns,
                                        &diagnostics, options));
  return compiled;
}

StatusOr<std::shared_ptr<const CompiledRules>> CompiledRules::Accept(
    const codec::RuleSet& rules, const plan::CompileOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledRules> compiled, Compile(rules, options));
  RETURN_IF_ERROR(engine::CheckProgram(*compiled->program()));
  return compiled;
}

std::vector<double> CompiledRules::ParametersFor(size_t space,
                                                 const engine::JobIdentity& job) const {
  return plan::ParametersFor(*program_, program_->spaces[space], job.id, job.name,
                             Labels::FromPairs(job.labels));
}

// What a record that is too long is made of.
static std::string SizesOf(const codec::RuleSet& rules) {
  size_t files = 0;
  size_t baselines = 0;
  for (const codec::RuleFile& file : rules.files) files += file.content.size();
  for (const codec::RuleFile& file : rules.baselines) baselines += file.content.size();
  return Cat("rule set with ", rules.files.size(), " rule files of ",
             FormatBytes(static_cast<double>(files)), " and ", rules.baselines.size(),
             " summaries of finished jobs of ", FormatBytes(static_cast<double>(baselines)),
             " (`pitwall baseline --max-bytes` makes smaller ones)");
}

StatusOr<std::string> RuleSets::Publish(const codec::RuleSet& rules) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledRules> compiled, CompiledRules::Accept(rules));
  const std::string hash = codec::RuleSetHash(rules);
  if (!Find(hash).ok()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log_->OpenAppender());
    RETURN_IF_ERROR(Annotate(appender->Append({{.topic = std::string(kRulesTopic),
                                                .partition = 0,
                                                .key = hash,
                                                .value = codec::EncodeRuleSet(rules)}}),
                             SizesOf(rules)));
  }
  Keep(hash, compiled);
  MutexLock lock(&mutex_);
  newest_ = std::move(compiled);
  return hash;
}

StatusOr<std::shared_ptr<const engine::RuleSetView>> RuleSets::Load(const std::string& hash) {
  {
    MutexLock lock(&mutex_);
    if (const auto it = compiled_.find(hash); it != compiled_.end()) {
      if (std::shared_ptr<const CompiledRules> known = it->second.lock()) return known;
    }
  }
  ASSIGN_OR_RETURN(const codec::RuleSet rules, Find(hash));
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledRules> compiled, CompiledRules::Compile(rules));
  return Keep(hash, std::move(compiled));
}

// Of two that were compiled at once one stays, so that all jobs share it.
std::shared_ptr<const CompiledRules> RuleSets::Keep(const std::string& hash,
                                                    std::shared_ptr<const CompiledRules> compiled) {
  MutexLock lock(&mutex_);
  absl::erase_if(compiled_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const CompiledRules>& kept = compiled_[hash];
  if (std::shared_ptr<const CompiledRules> known = kept.lock()) return known;
  kept = compiled;
  return compiled;
}

StatusOr<codec::RuleSet> RuleSets::Find(const std::string& hash) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log_->OpenReader({std::string(kRulesTopic), 0}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  std::vector<Record> records;
  while (reader->position() < end) {
    records.clear();
    if (Status status = reader->Poll(64, 8 << 20, kNanosPerSecond, &records); !status.ok()) {
      if (!absl::IsDataLoss(status)) return status;
      // The set may be another one, or stand there once more.
      PITWALL_LOG(kError, "rules", "records of ", kRulesTopic, ": ", ToStd(status.message()));
    }
    for (const Record& record : records) {
      if (record.key != hash || record.tombstone) continue;
      StatusOr<codec::RuleSet> rules = codec::DecodeRuleSet(record.value);
      if (rules.ok() && codec::RuleSetHash(*rules) == hash) return rules;
      PITWALL_LOG(kError, "rules", "rule set at offset ", record.offset, " of ", kRulesTopic,
                  " does not hash to its key ", hash, "; ignored");
    }
  }
  return NotFound(Cat("rule set ", hash, " not found on ", kRulesTopic,
                      " (damaged or deleted; start with the same rule files to write it again)"));
}

}  // namespace pitwall::processor
