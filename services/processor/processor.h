// Processor service. Each partition has a thread that runs a PartitionProcessor. After a failure,
// the thread pauses and restarts the PartitionProcessor.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/processor/partition_processor.h"
#include "services/processor/partition_share.h"
#include "services/processor/rule_sets.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/probe.h"

namespace pitwall::processor {

struct ProcessorOptions {
  PartitionOptions partition;
  PartitionShare share;              // all partitions by default
  int32_t telemetry_partitions = 4;  // used only if the topics do not exist yet
  int64_t telemetry_retention_ms = 7LL * 24 * 3600 * 1000;
  Duration retry_pause = Duration::Seconds(1);  // pause before a restart after a failure
  // Initial wait of a fenced owner. The wait doubles after each conflict, up to the maximum.
  Duration fenced_wait = Duration::Seconds(2);
  Duration fenced_wait_most = Duration::Minutes(5);
  // A fenced owner takes over once the other owner has not committed for this long. (Owners commit
  // once a second.)
  Duration takeover_after = Duration::Seconds(15);
};

// Creates the topics listed in architecture.md, section 5, that do not exist yet.
Status EnsureTopics(Log* log, const ProcessorOptions& options);

class Processor final : public RunningJobs {
 public:
  // All pointers must outlive the processor. The exposition may be null. It also shows the memory
  // budget in the options.
  Processor(Clock* clock, Log* log, const ProcessorOptions& options,
            self_metrics::Exposition* exposition = nullptr);
  ~Processor() override;

  // If `rules` is null, the rule set recorded in the log remains active.
  Status Start(engine::CompiledRulesPtr rules);
  // Activates another rule set, which takes effect at the first tick after its control record.
  Status SetRules(engine::CompiledRulesPtr rules) override;
  bool Owns(const std::string& job) const override { return FindOwned(job) != nullptr; }
  bool MayOwn(int32_t partition, int32_t partitions) const override;
  void Watch(const std::vector<std::string>& jobs) override;
  std::optional<WatchedJob> Watched(const std::string& job) const override;
  // Commits, writes snapshots, and stops all threads. Idempotent.
  void Stop();

  // Returns one element per partition of this process.
  std::vector<PartitionStats> stats() const;
  // Returns the number of telemetry topic partitions across all processors, as read by Start.
  int32_t partitions() const { return partitions_; }
  // Returns the number of times that an owner in this process was fenced.
  uint64_t fenced() const { return fenced_; }
  // Returns the reasons why partitions are not running, and problems with running partitions. The
  // list is empty if there are no problems.
  std::vector<std::string> faults() const;
  bool ready() const;

 private:
  struct OwnedPartition {
    OwnedPartition(Clock* clock, int32_t n) : number(n), worker(clock, "partition", n) {}

    const int32_t number;
    std::unique_ptr<PartitionProcessor> processor;
    std::atomic<bool> standby{false};  // true if another processor owns the partition
    Worker worker;                     // its health is the reason why the partition is not running
  };
  // Returns null if another processor owns the job's partition.
  const OwnedPartition* FindOwned(const std::string& job) const;
  void Run(OwnedPartition* owned);
  void Fail(OwnedPartition* owned, const Status& fault);
  // Waits until the other owner has stopped committing, so that two processors do not fence each
  // other endlessly.
  void StandBy(OwnedPartition* owned, Duration* wait);

  Clock* const clock_;
  Log* const log_;
  const ProcessorOptions options_;
  RuleSets rules_;
  int32_t partitions_ = 0;  // number of topic partitions, as read by Start
  std::vector<std::unique_ptr<OwnedPartition>> owned_;
  std::atomic<uint64_t> fenced_{0};
  self_metrics::Probe probe_;
};

}  // namespace pitwall::processor
