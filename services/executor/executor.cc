#include "services/executor/executor.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/executor/actions_topic.h"
#include "services/executor/decision_index.h"
#include "services/executor/partition_worker.h"
#include "services/executor/targets/process_target.h"
#include "services/self_metrics/probe.h"

namespace pitwall::executor {
namespace {

std::vector<StopTarget*> TargetsOf(const ExecutorOptions& options, ProcessTarget* processes) {
  std::vector<StopTarget*> targets = options.targets;
  if (options.processes) targets.insert(targets.begin(), processes);
  return targets;
}

class LogExecutor final : public Executor {
 public:
  LogExecutor(Clock* clock, Log* log, ProcessControl* processes, ExecutorOptions options,
              self_metrics::Exposition* exposition)
      : clock_(clock),
        log_(log),
        options_(std::move(options)),
        process_target_(processes, options_.node),
        targets_(TargetsOf(options_, &process_target_), options_.others_elsewhere),
        index_({options_.budget, options_.budget_window_ns, options_.cool_down_ns,
                options_.max_decisions}),
        decisions_(clock, log, &options_, &index_),
        probe_(exposition) {
    AddMetrics();
  }
  ~LogExecutor() override { Stop(); }

  Status Start() override {
    if (!workers_.empty()) return FailedPrecondition("the executor is already started");
    ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(options_.issues_topic));
    if (!log_->Partitions(options_.actions_topic).ok()) {
      TopicConfig config;
      config.partitions = partitions;
      RETURN_IF_ERROR(log_->EnsureTopic(options_.actions_topic, config));
    }
    // Create the committers first to fence an older executor before its last decisions are read.
    for (int32_t p = 0; p < partitions; ++p) {
      workers_.push_back(std::make_unique<PartitionWorker>(clock_, log_, &targets_, &options_,
                                                           &index_, &decisions_, &counters_, p));
      if (Status fenced = workers_.back()->Fence(); !fenced.ok()) {
        workers_.clear();
        return fenced;
      }
    }
    if (Status opened = OpenAll(partitions); !opened.ok()) {
      workers_.clear();
      return opened;
    }
    for (const auto& worker : workers_) worker->Start();
    ready_ = true;
    return OkStatus();
  }

  void Stop() override {
    ready_ = false;
    decisions_.Stop();
    targets_.Cancel();
    for (const auto& worker : workers_) worker->Stop();
  }

  bool Ready() const override { return ready_; }

  Status Health() const override {
    for (const auto& worker : workers_) RETURN_IF_ERROR(worker->health());
    return OkStatus();
  }

  const ExecutorCounters& counters() const override { return counters_; }

 private:
  void AddMetrics() {
    constexpr std::string_view kActions = "pitwall_executor_actions_total";
    constexpr std::string_view kHelp = "Records written to the actions topic.";
    probe_.Add(kActions, kHelp, &counters_.decided_dry_run,
               {{"type", "decided"}, {"mode", "dry_run"}});
    probe_.Add(kActions, kHelp, &counters_.decided_live, {{"type", "decided"}, {"mode", "live"}});
    probe_.Add(kActions, kHelp, &counters_.done, {{"type", "done"}});
    probe_.Add(kActions, kHelp, &counters_.refused, {{"type", "refused"}});
    probe_.Add("pitwall_executor_refused_owner_total",
               "Refusals because the stop target does not belong to the job's owner, or its owner "
               "is unknown.",
               &counters_.refused_owner);
    probe_.Add("pitwall_executor_events_total", "Events read.", &counters_.events);
    probe_.Add("pitwall_executor_undecodable_total", "Records that could not be decoded.",
               &counters_.undecodable);
    probe_.Add("pitwall_executor_elsewhere_total",
               "Events of issues whose jobs belong to another executor.", &counters_.elsewhere);
    probe_.Add("pitwall_executor_log_resets_total",
               "Number of times the log of an issue partition was replaced and reading resumed at "
               "its end.",
               &counters_.log_resets);
    probe_.Add("pitwall_executor_failed_commits_total", "Failed commits, which are retried.",
               &counters_.failed_commits);
  }

  Status OpenAll(int32_t partitions) {
    // If this fails, the executor does not act, but the rest of the process continues.
    const Status record = decisions_.ReadAll();
    if (!record.ok() && !absl::IsFailedPrecondition(record)) return record;
    std::vector<std::vector<ActionEvent>> unfinished(static_cast<size_t>(partitions));
    for (ActionEvent& decision : index_.Unfinished()) {
      const int32_t p = PartitionOf(decision.job, partitions);
      unfinished[static_cast<size_t>(p)].push_back(std::move(decision));
    }
    for (size_t p = 0; p < workers_.size(); ++p) {
      RETURN_IF_ERROR(workers_[p]->Open(std::move(unfinished[p])));
      if (!record.ok()) workers_[p]->Hold(record);
    }
    return OkStatus();
  }

  Clock* const clock_;
  Log* const log_;
  const ExecutorOptions options_;
  ProcessTarget process_target_;
  const StopTargets targets_;
  DecisionIndex index_;
  ActionsTopic decisions_;
  ExecutorCounters counters_;
  std::vector<std::unique_ptr<PartitionWorker>> workers_;
  std::atomic<bool> ready_{false};
  self_metrics::Probe probe_;
};

}  // namespace

StatusOr<std::unique_ptr<Executor>> Executor::Make(Clock* clock, Log* log,
                                                   ProcessControl* processes,
                                                   ExecutorOptions options,
                                                   self_metrics::Exposition* exposition) {
  for (const Policy& policy : options.policies) {
    if (policy.rule.empty()) return InvalidArgument("executor.policies: rule must not be empty");
    if (policy.grace_ns < 0)
      return InvalidArgument(
          Cat("executor.policies: grace for rule ", policy.rule, " must not be negative"));
  }
  for (const Exempt& exempt : options.exempt) {
    if (exempt.job.empty() && exempt.namespace_name.empty() && exempt.owner.empty())
      return InvalidArgument("executor.exempt: each entry must have job, namespace, or owner");
  }
  if (options.budget < 0 || options.budget_window_ns <= 0 || options.cool_down_ns < 0 ||
      options.max_decisions == 0) {
    return InvalidArgument(
        "executor: budget and cool_down must not be negative; budget_window and max_decisions must "
        "be positive");
  }
  if (options.node.empty()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0)
      return ErrnoStatus(errno, "read the host name");
    options.node = name.data();
  }
  return std::make_unique<LogExecutor>(clock, log, processes, std::move(options), exposition);
}

}  // namespace pitwall::executor
