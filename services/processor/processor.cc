#include "services/processor/processor.h"

#include <unistd.h>

#include <algorithm>

#include "absl/time/time.h"
#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::processor {

Status EnsureTopics(Log* log, const ProcessorOptions& options) {
  const TopicConfig telemetry{.partitions = options.telemetry_partitions,
                              .retention_ms = options.telemetry_retention_ms};
  Status status = log->EnsureTopic(kTelemetryTopic, telemetry);
  // The topics for events and snapshots get the partition count of the existing telemetry topic,
  // which may differ from the configured count.
  if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  RETURN_IF_ERROR(log->EnsureTopic(
      kIssuesTopic, {.partitions = partitions, .retention_ms = options.telemetry_retention_ms}));
  RETURN_IF_ERROR(log->EnsureTopic(kStateTopic, {.partitions = partitions, .compacted = true}));
  RETURN_IF_ERROR(log->EnsureTopic(kRulesTopic, {.partitions = 1, .compacted = true}));
  RETURN_IF_ERROR(log->EnsureTopic(
      kActionsTopic, {.partitions = partitions, .retention_ms = options.telemetry_retention_ms}));
  // Requests expire long before the one-hour retention. Captures and notifications are rare, so
  // each topic has a single partition. A single partition keeps all records in order.
  RETURN_IF_ERROR(
      log->EnsureTopic(kControlTopic, {.partitions = 1, .retention_ms = int64_t{3600} * 1000}));
  RETURN_IF_ERROR(log->EnsureTopic(
      kCapturesTopic, {.partitions = 1, .retention_ms = options.telemetry_retention_ms}));
  RETURN_IF_ERROR(log->EnsureTopic(
      kNotificationsTopic, {.partitions = 1, .retention_ms = options.telemetry_retention_ms}));
  return log->EnsureTopic(kDeadLetterTopic,
                          {.partitions = 1, .retention_ms = options.telemetry_retention_ms});
}

namespace {

// The host, process ID, and start time identify this process to other owners of a partition.
ProcessorOptions WithOwner(ProcessorOptions options, Clock* clock) {
  if (!options.partition.owner.empty()) return options;
  char host[256] = "";
  (void)::gethostname(host, sizeof(host) - 1);
  options.partition.owner =
      Cat(host, "/pid ", ::getpid(), "/started ",
          absl::FormatTime("%E4Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(clock->WallNs()),
                           absl::UTCTimeZone()));
  return options;
}

}  // namespace

Processor::Processor(Clock* clock, Log* log, const ProcessorOptions& options)
    : clock_(clock), log_(log), options_(WithOwner(options, clock)), rules_(log) {}

Processor::~Processor() { Stop(); }

Status Processor::Start(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(EnsureTopics(log_, options_));
  std::string hash;
  if (rules != nullptr) {
    hash = rules->hash();
    RETURN_IF_ERROR(rules_.Publish(std::move(rules)));
  }
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(kTelemetryTopic));
  partitions_ = partitions;
  const PartitionShare share = options_.share;
  const std::vector<int32_t> owned = PartitionsOf(share, partitions);
  if (owned.empty()) {
    return InvalidArgument(Cat("processor.share: ", kTelemetryTopic, " has ", partitions,
                               " partitions, so this processor would own none (share ", share.index,
                               "/", share.count, "); start fewer processors"));
  }
  for (const int32_t partition : owned) {
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

void Processor::Fail(Worker* worker, std::string fault) {
  PITWALL_LOG(kError, "processor", "partition ", worker->partition, ": ", fault);
  MutexLock lock(&worker->mutex);
  worker->fault = std::move(fault);
}

void Processor::Run(Worker* worker) {
  Duration fenced_wait = options_.fenced_wait;
  while (!stopping_) {
    Status status = worker->processor->Recover();
    const MonotonicTime since = clock_->Monotonic();
    if (status.ok()) {
      worker->standby = false;
      MutexLock lock(&worker->mutex);
      worker->fault.clear();
    }
    while (status.ok() && !stopping_) status = worker->processor->RunOnce(Duration::Millis(100));
    if (status.ok()) {
      status = worker->processor->Finish();
      if (status.ok()) return;
    }
    Fail(worker, std::string(ToStd(status.message())));
    if (absl::IsAborted(status)) {
      worker->standby = true;
      // If this worker owned the partition for a long time, the wait is reset to its initial value.
      if (clock_->Monotonic() - since > options_.fenced_wait_most)
        fenced_wait = options_.fenced_wait;
      StandBy(worker, &fenced_wait);
      continue;
    }
    // Recovery restarts from the last commit, so no event is lost or published twice.
    worker->wakeup->Wait(options_.retry_pause.ns());
  }
}

void Processor::StandBy(Worker* worker, Duration* wait) {
  ++fenced_;
  const TopicPartition input{std::string(kTelemetryTopic), worker->partition};
  // The first commit of the other owner identifies that owner.
  worker->wakeup->Wait(wait->ns());
  const Duration patience = std::max(*wait, options_.takeover_after);
  *wait = std::min(2 * *wait, options_.fenced_wait_most);
  std::string last;
  MonotonicTime changed_at = clock_->Monotonic();
  bool logged = false;
  while (!stopping_ && clock_->Monotonic() - changed_at < patience) {
    if (const auto committed = log_->Committed(options_.partition.group, input);
        committed.ok() && committed->has_value()) {
      const auto metadata = ParseCommitMetadata((*committed)->metadata);
      // Either the other owner has stopped, or there is no other owner and one of this processor's
      // own transactions failed with the same error.
      if (!metadata.ok() || metadata->owner.empty() ||
          metadata->owner == options_.partition.owner) {
        *wait = options_.fenced_wait;
        return;
      }
      std::string now = Cat((*committed)->offset, " ", (*committed)->metadata);
      if (now != last) changed_at = clock_->Monotonic();
      last = std::move(now);
      if (!logged) {
        logged = true;
        Fail(worker, Cat("fenced: ", metadata->owner, " now owns the partition; this processor (",
                         options_.partition.owner, ") waits until the owner has not committed for ",
                         FormatDuration(patience.ns()), "; stop one of the two processors"));
      }
    }
    worker->wakeup->Wait(options_.retry_pause.ns());
  }
}

Status Processor::SetRules(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(rules_.Publish(rules));
  for (const auto& worker : workers_) worker->processor->WantRules(rules->hash());
  return OkStatus();
}

const Processor::Worker* Processor::WorkerOf(const std::string& job) const {
  if (partitions_ <= 0) return nullptr;
  const int32_t partition = PartitionOf(job, partitions_);
  for (const auto& worker : workers_) {
    if (worker->partition == partition) return worker.get();
  }
  return nullptr;
}

bool Processor::MayOwn(int32_t partition, int32_t partitions) const {
  return partitions != partitions_ ||
         std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& worker) { return worker->partition == partition; });
}

void Processor::Watch(const std::vector<std::string>& jobs) {
  for (const auto& worker : workers_) {
    std::vector<std::string> own;
    for (const std::string& job : jobs) {
      if (WorkerOf(job) == worker.get()) own.push_back(job);
    }
    worker->processor->Watch(std::move(own));
  }
}

std::optional<WatchedJob> Processor::Watched(const std::string& job) const {
  const Worker* const worker = WorkerOf(job);
  if (worker == nullptr) return std::nullopt;
  {
    MutexLock lock(&worker->mutex);
    if (!worker->fault.empty()) return std::nullopt;
  }
  return worker->processor->Watched(job);
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
  for (const auto& worker : workers_) {
    all.push_back(worker->processor->stats());
    all.back().standby = worker->standby;
  }
  return all;
}

std::vector<std::string> Processor::faults() const {
  std::vector<std::string> all;
  for (const auto& worker : workers_) {
    MutexLock lock(&worker->mutex);
    if (!worker->fault.empty())
      all.push_back(Cat("partition ", worker->partition, ": ", worker->fault));
  }
  for (const PartitionStats& stats : this->stats()) {
    if (!stats.trouble.empty())
      all.push_back(Cat("partition ", stats.partition, ": ", stats.trouble));
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
