#include "services/processor/processor.h"

#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/pipeline/topics.h"

namespace pitwall::processor {

Status EnsureTopics(Log* log, const ProcessorOptions& options) {
  const TopicConfig telemetry{.partitions = options.telemetry_partitions,
                              .retention_ms = options.telemetry_retention_ms};
  Status status = log->EnsureTopic(kTelemetryTopic, telemetry);
  // A topic that somebody made with other partitions rules: the others follow it.
  if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  RETURN_IF_ERROR(log->EnsureTopic(
      kIssuesTopic, {.partitions = partitions, .retention_ms = options.telemetry_retention_ms}));
  RETURN_IF_ERROR(log->EnsureTopic(kStateTopic, {.partitions = partitions, .compacted = true}));
  RETURN_IF_ERROR(log->EnsureTopic(kRulesTopic, {.partitions = 1, .compacted = true}));
  RETURN_IF_ERROR(log->EnsureTopic(
      kActionsTopic, {.partitions = partitions, .retention_ms = options.telemetry_retention_ms}));
  return log->EnsureTopic(kDeadLetterTopic,
                          {.partitions = 1, .retention_ms = options.telemetry_retention_ms});
}

Processor::Processor(Clock* clock, Log* log, const ProcessorOptions& options)
    : clock_(clock), log_(log), options_(options), rules_(log) {}

Processor::~Processor() { Stop(); }

Status Processor::Start(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(EnsureTopics(log_, options_));
  std::string hash;
  if (rules != nullptr) {
    hash = rules->hash();
    RETURN_IF_ERROR(rules_.Publish(std::move(rules)));
  }
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(kTelemetryTopic));
  std::vector<int32_t> owned = options_.partitions;
  if (owned.empty()) {
    for (int32_t p = 0; p < partitions; ++p) owned.push_back(p);
  }
  for (const int32_t partition : owned) {
    if (partition < 0 || partition >= partitions) {
      return InvalidArgument(
          Cat("partition ", partition, ": ", kTelemetryTopic, " has ", partitions));
    }
    auto worker = std::make_unique<Worker>();
    worker->partition = partition;
    worker->wakeup = clock_->NewWakeup();
    worker->processor =
        std::make_unique<PartitionProcessor>(partition, clock_, log_, &rules_, options_.partition);
    worker->processor->WantRules(hash);
    workers_.push_back(std::move(worker));
  }
  for (const auto& worker : workers_)
    worker->thread = std::thread([this, w = worker.get()] { Run(w); });
  return OkStatus();
}

void Processor::Run(Worker* worker) {
  while (!stopping_) {
    Status status = worker->processor->Recover();
    if (status.ok()) {
      MutexLock lock(&worker->mutex);
      worker->fault.clear();
    }
    while (status.ok() && !stopping_) status = worker->processor->RunOnce(100 * kNanosPerMilli);
    if (status.ok()) {
      status = worker->processor->Finish();
      if (status.ok()) return;
    }
    PITWALL_LOG(kError, "processor", "partition ", worker->partition, ": ",
                ToStd(status.message()));
    {
      MutexLock lock(&worker->mutex);
      worker->fault = std::string(ToStd(status.message()));
    }
    // Recovery starts over from the last commit: nothing is lost, and nothing is said twice.
    worker->wakeup->Wait(options_.retry_ns);
  }
}

Status Processor::SetRules(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(rules_.Publish(rules));
  for (const auto& worker : workers_) worker->processor->WantRules(rules->hash());
  return OkStatus();
}

void Processor::Stop() {
  stopping_ = true;
  for (const auto& worker : workers_) worker->wakeup->Wake();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

std::vector<PartitionStats> Processor::stats() const {
  std::vector<PartitionStats> all;
  for (const auto& worker : workers_) all.push_back(worker->processor->stats());
  return all;
}

std::vector<std::string> Processor::faults() const {
  std::vector<std::string> all;
  for (const auto& worker : workers_) {
    MutexLock lock(&worker->mutex);
    if (!worker->fault.empty())
      all.push_back(Cat("partition ", worker->partition, ": ", worker->fault));
  }
  return all;
}

bool Processor::ready() const {
  if (!faults().empty()) return false;
  for (const PartitionStats& stats : this->stats()) {
    if (stats.recovering) return false;
  }
  return true;
}

}  // namespace pitwall::processor
