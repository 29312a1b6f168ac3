#include "services/app/host/roles/processor_role.h"

#include <algorithm>

#include "services/app/config/rule_files.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/self_metrics/memory_limit.h"

namespace pitwall {
namespace {

// Maximum age of the last commit. A partition commits at each clock tick, so if there are no
// commits, its rules are not being evaluated.
constexpr int64_t kMaxCommitAgeNs = 12 * kNanosPerSecond;

size_t BudgetOf(const MemoryConfig& config) {
  if (config.budget > 0) return static_cast<size_t>(config.budget);
  const self_metrics::MemoryLimit limit = self_metrics::FindMemoryLimit();
  // The remaining memory is for heap overhead, threads, queues, and snapshots while they are being
  // written.
  const size_t budget = limit.bytes == 0 ? size_t{4} << 30 : limit.bytes / 100 * 60;
  PITWALL_LOG(kInfo, "memory", "budget for jobs is ", budget >> 20, " MiB, 60% of ",
              limit.bytes >> 20, " MiB (", limit.source, "); set memory.budget to change it");
  return budget;
}

StatusOr<engine::CompiledRulesPtr> RulesOf(const RulesConfig& config) {
  return CompileNewRules(
      {.files = config.files, .overrides = config.overrides, .baselines = config.baseline},
      config.evaluation_interval_ns, {.limits = &config.limits});
}

}  // namespace

processor::ProcessorOptions ProcessorOptionsOf(const Config& config, MemoryBudget* memory) {
  processor::ProcessorOptions options;
  options.telemetry_partitions = config.processor.partitions;
  // CheckConfig has already validated the share.
  if (const auto share = ParseShare(config.processor.share); share.ok()) options.share = *share;
  options.telemetry_retention_ms = config.log.retention_ns / kNanosPerMilli;
  options.partition.commit_interval = Duration::Nanos(config.processor.commit_interval_ns);
  options.partition.snapshot_interval = Duration::Nanos(config.processor.snapshot_interval_ns);
  options.partition.clock_ticks = config.processor.clock_ticks;
  options.partition.accept_log_reset = config.processor.accept_log_reset;
  options.partition.engine.max_job_bytes = static_cast<size_t>(config.processor.job_memory);
  options.partition.memory = memory;
  return options;
}

Status ProcessorRole::Start(const Config& config) {
  memory_ = std::make_unique<MemoryBudget>(BudgetOf(config.memory));
  processor_ = std::make_unique<processor::Processor>(
      clock_, log_, ProcessorOptionsOf(config, memory_.get()), exposition_);
  parameters_ = std::make_unique<processor::ParameterChangeHandler>(
      clock_, log_, processor_.get(),
      processor::ParameterChangeOptions{.keep = Duration::Nanos(config.log.retention_ns)});
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr files, RulesOf(config.rules));
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr rules, parameters_->Over(files));
  RETURN_IF_ERROR(processor_->Start(rules));
  // A job whose records are read before a rule set is active starts with empty windows, so wait for
  // the rule set. With a backlog, the rule set may become active only after the wait has timed out.
  rules_in_force_.Set(rules);
  const std::unique_ptr<Wakeup> pause = clock_->NewWakeup();
  const int64_t deadline = clock_->MonotonicNs() + 3 * kNanosPerSecond;
  const auto in_force = [&] {
    const auto stats = processor_->stats();
    return std::all_of(stats.begin(), stats.end(),
                       [&](const auto& s) { return s.rule_set_hash == rules->hash(); });
  };
  while (!in_force() && clock_->MonotonicNs() < deadline) pause->Wait(10 * kNanosPerMilli);
  parameters_->Start([this](const engine::CompiledRulesPtr& fresh) { rules_in_force_.Set(fresh); });
  return OkStatus();
}

Status ProcessorRole::Reload(const Config& fresh) {
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr files, RulesOf(fresh.rules));
  const engine::CompiledRulesPtr before = rules_in_force_.Get();
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr rules, parameters_->SetFiles(files));
  const std::string& hash = rules->hash();
  if (before != nullptr && hash == before->hash()) {
    PITWALL_LOG(kInfo, "reload", "rules have not changed");
  } else {
    PITWALL_LOG(kInfo, "reload", "rule set ", hash, " becomes active");
  }
  return OkStatus();
}

void ProcessorRole::Stop() {
  if (parameters_ != nullptr) parameters_->Stop();
  if (processor_ != nullptr) processor_->Stop();
}

Status ProcessorRole::Health() const {
  if (const auto faults = processor_->faults(); !faults.empty()) return Unavailable(faults[0]);
  return OkStatus();
}

Status ProcessorRole::Ready() const {
  if (const auto faults = processor_->faults(); !faults.empty())
    return Unavailable(Cat("processor: ", faults[0]));
  if (!processor_->ready()) return Unavailable("processor: still restoring state");
  for (const processor::PartitionStats& stats : processor_->stats()) {
    const int64_t age_ns = clock_->MonotonicNs() - stats.commits.last_commit.ns();
    if (age_ns < kMaxCommitAgeNs) continue;
    return Unavailable(Cat("processor: partition ", stats.partition, ": no commit for ",
                           age_ns / kNanosPerSecond, " s; does the log accept records?"));
  }
  return OkStatus();
}

}  // namespace pitwall
