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
#include "services/pipeline/io.h"
#include "services/processor/partition_processor.h"
#include "services/processor/rule_sets.h"

namespace pitwall::processor {

struct ProcessorOptions {
  PartitionOptions partition;
  std::vector<int32_t> partitions;   // empty: all
  int32_t telemetry_partitions = 4;  // when the topics have to be made
  int64_t telemetry_retention_ms = 7LL * 24 * 3600 * 1000;
  int64_t retry_ns = kNanosPerSecond;  // after a failure
};

// Makes the topics of design.md, section 5, that are not there yet.
Status EnsureTopics(Log* log, const ProcessorOptions& options);

class Processor {
 public:
  // Everything borrowed must outlive this.
  Processor(Clock* clock, Log* log, const ProcessorOptions& options);
  ~Processor();

  // `rules` may be null: then those of the log stay in force.
  Status Start(engine::CompiledRulesPtr rules);
  // Puts another rule set in force, from the first tick after its control record is read.
  Status SetRules(engine::CompiledRulesPtr rules);
  // Commits, snapshots and ends all threads. Idempotent.
  void Stop();

  // One per partition.
  std::vector<PartitionStats> stats() const;
  // Why partitions do not run; empty when all do.
  std::vector<std::string> faults() const;
  bool ready() const;

 private:
  struct Worker {
    int32_t partition = 0;
    std::unique_ptr<PartitionProcessor> processor;
    std::unique_ptr<Wakeup> wakeup;
    std::thread thread;
    mutable Mutex mutex;
    std::string fault ABSL_GUARDED_BY(mutex);
  };
  void Run(Worker* worker);

  Clock* const clock_;
  Log* const log_;
  const ProcessorOptions options_;
  RuleSets rules_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};
};

}  // namespace pitwall::processor
