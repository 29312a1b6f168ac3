// The processor service: one thread per partition, each a PartitionProcessor that is restarted with
// a pause when it fails.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/io/io.h"
#include "services/processor/partition_processor.h"
#include "services/processor/partition_share.h"
#include "services/processor/rule_sets.h"

namespace pitwall::processor {

struct ProcessorOptions {
  PartitionOptions partition;
  PartitionShare share;              // all, unless several processors share the topic
  int32_t telemetry_partitions = 4;  // when the topics have to be made
  int64_t telemetry_retention_ms = 7LL * 24 * 3600 * 1000;
  int64_t retry_ns = kNanosPerSecond;  // after a failure
  // An owner that was fenced waits so long at first, then twice as long each time, up to the most.
  int64_t fenced_wait_ns = 2 * kNanosPerSecond;
  int64_t fenced_wait_most_ns = 300 * kNanosPerSecond;
  // … and takes over when the other has committed nothing for so long (it commits once a second).
  int64_t takeover_after_ns = 15 * kNanosPerSecond;
};

// Makes the topics of architecture.md, section 5, that are not there yet.
Status EnsureTopics(Log* log, const ProcessorOptions& options);

class Processor final : public RunningJobs {
 public:
  // Everything borrowed must outlive this.
  Processor(Clock* clock, Log* log, const ProcessorOptions& options);
  ~Processor() override;

  // `rules` may be null: then those of the log stay in force.
  Status Start(engine::CompiledRulesPtr rules);
  // Puts another rule set in force, from the first tick after its control record is read.
  Status SetRules(engine::CompiledRulesPtr rules) override;
  bool Owns(const std::string& job) const override { return WorkerOf(job) != nullptr; }
  bool MayOwn(int32_t partition, int32_t partitions) const override;
  void Watch(const std::vector<std::string>& jobs) override;
  std::optional<WatchedJob> Watched(const std::string& job) const override;
  // Commits, snapshots and ends all threads. Idempotent.
  void Stop();

  // One per partition of this process.
  std::vector<PartitionStats> stats() const;
  // Of the telemetry topic, as of Start; all processors own them together.
  int32_t partitions() const { return partitions_; }
  // How often owners here were fenced by others.
  uint64_t fenced() const { return fenced_; }
  // Why partitions do not run, or what is wrong though they do; empty when all is well.
  std::vector<std::string> faults() const;
  bool ready() const;

 private:
  struct Worker {
    int32_t partition = 0;
    std::unique_ptr<PartitionProcessor> processor;
    std::unique_ptr<Wakeup> wakeup;
    std::atomic<bool> standby{false};  // another processor owns the partition
    std::thread thread;
    mutable Mutex mutex;
    std::string fault ABSL_GUARDED_BY(mutex);
  };
  // Null: another processor has the job's partition.
  const Worker* WorkerOf(const std::string& job) const;
  void Run(Worker* worker);
  void Fail(Worker* worker, std::string fault);
  // Until the other owner is silent, so that two that were both started do not fence each other
  // without end.
  void StandBy(Worker* worker, int64_t* wait_ns);

  Clock* const clock_;
  Log* const log_;
  const ProcessorOptions options_;
  RuleSets rules_;
  int32_t partitions_ = 0;  // of the topic; as of Start
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> fenced_{0};
};

}  // namespace pitwall::processor
