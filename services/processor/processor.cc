#include "services/processor/processor.h"

#include <unistd.h>

#include <algorithm>

#include "absl/time/time.h"
#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"
#include "services/processor/metrics/processor_metrics.h"

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

Processor::Processor(Clock* clock, Log* log, const ProcessorOptions& options,
                     self_metrics::Exposition* exposition)
    : clock_(clock),
      log_(log),
      options_(WithOwner(options, clock)),
      rules_(log),
      probe_(exposition) {}

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
  const std::vector<int32_t> numbers = PartitionsOf(share, partitions);
  if (numbers.empty()) {
    return InvalidArgument(Cat("processor.share: ", kTelemetryTopic, " has ", partitions,
                               " partitions, so this processor would own none (share ", share.index,
                               "/", share.count, "); start fewer processors"));
  }
  for (const int32_t partition : numbers) {
    owned_.push_back(std::make_unique<OwnedPartition>(clock_, partition));
    owned_.back()->processor =
        std::make_unique<PartitionProcessor>(partition, clock_, log_, &rules_, options_.partition);
    owned_.back()->processor->WantRules(hash);
  }
  AddProcessorMetrics(this, clock_, &probe_);
  if (options_.partition.memory != nullptr) AddMemoryMetrics(options_.partition.memory, &probe_);
  for (const auto& owned : owned_) owned->worker.Start([this, o = owned.get()] { Run(o); });
  return OkStatus();
}

void Processor::Fail(OwnedPartition* owned, const Status& fault) {
  PITWALL_LOG(kError, "processor", "partition ", owned->number, ": ", ToStd(fault.message()));
  owned->worker.SetHealth(fault);
}

void Processor::Run(OwnedPartition* owned) {
  Duration fenced_wait = options_.fenced_wait;
  while (!owned->worker.stopping()) {
    Status status = owned->processor->Recover();
    const MonotonicTime since = clock_->Monotonic();
    if (status.ok()) {
      owned->standby = false;
      owned->worker.SetHealth(OkStatus());
    }
    while (status.ok() && !owned->worker.stopping())
      status = owned->processor->RunOnce(Duration::Millis(100));
    if (status.ok()) {
      status = owned->processor->Finish();
      if (status.ok()) return;
    }
    Fail(owned, status);
    if (absl::IsAborted(status)) {
      owned->standby = true;
      // If this processor owned the partition for a long time, the wait is reset to its initial
      // value.
      if (clock_->Monotonic() - since > options_.fenced_wait_most)
        fenced_wait = options_.fenced_wait;
      StandBy(owned, &fenced_wait);
      continue;
    }
    // Recovery restarts from the last commit, so no event is lost or published twice.
    owned->worker.Wait(options_.retry_pause);
  }
}

void Processor::StandBy(OwnedPartition* owned, Duration* wait) {
  ++fenced_;
  const TopicPartition input{std::string(kTelemetryTopic), owned->number};
  // The first commit of the other owner identifies that owner.
  owned->worker.Wait(*wait);
  const Duration patience = std::max(*wait, options_.takeover_after);
  *wait = std::min(2 * *wait, options_.fenced_wait_most);
  std::string last;
  MonotonicTime changed_at = clock_->Monotonic();
  bool logged = false;
  while (!owned->worker.stopping() && clock_->Monotonic() - changed_at < patience) {
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
        Fail(owned, absl::AbortedError(Cat(
                        "fenced: ", metadata->owner, " now owns the partition; this processor (",
                        options_.partition.owner, ") waits until the owner has not committed for ",
                        FormatDuration(patience.ns()), "; stop one of the two processors")));
      }
    }
    owned->worker.Wait(options_.retry_pause);
  }
}

Status Processor::SetRules(engine::CompiledRulesPtr rules) {
  RETURN_IF_ERROR(rules_.Publish(rules));
  for (const auto& owned : owned_) owned->processor->WantRules(rules->hash());
  return OkStatus();
}

const Processor::OwnedPartition* Processor::FindOwned(const std::string& job) const {
  if (partitions_ <= 0) return nullptr;
  const int32_t partition = PartitionOf(job, partitions_);
  for (const auto& owned : owned_) {
    if (owned->number == partition) return owned.get();
  }
  return nullptr;
}

bool Processor::MayOwn(int32_t partition, int32_t partitions) const {
  return partitions != partitions_ ||
         std::any_of(owned_.begin(), owned_.end(),
                     [&](const auto& owned) { return owned->number == partition; });
}

void Processor::Watch(const std::vector<std::string>& jobs) {
  for (const auto& owned : owned_) {
    std::vector<std::string> own;
    for (const std::string& job : jobs) {
      if (FindOwned(job) == owned.get()) own.push_back(job);
    }
    owned->processor->Watch(std::move(own));
  }
}

std::optional<WatchedJob> Processor::Watched(const std::string& job) const {
  const OwnedPartition* const owned = FindOwned(job);
  if (owned == nullptr || !owned->worker.Health().ok()) return std::nullopt;
  return owned->processor->Watched(job);
}

void Processor::Stop() {
  for (const auto& owned : owned_) owned->worker.RequestStop();
  for (const auto& owned : owned_) owned->worker.Stop();
}

std::vector<PartitionStats> Processor::stats() const {
  std::vector<PartitionStats> all;
  for (const auto& owned : owned_) {
    all.push_back(owned->processor->stats());
    all.back().standby = owned->standby;
  }
  return all;
}

std::vector<std::string> Processor::faults() const {
  std::vector<std::string> all;
  for (const auto& owned : owned_) {
    if (const Status health = owned->worker.Health(); !health.ok())
      all.push_back(Cat("partition ", owned->number, ": ", ToStd(health.message())));
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
