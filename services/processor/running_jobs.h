// Interface for changing the rules of a processor's running jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/engine/program/compiled_rules.h"

namespace pitwall::processor {

// State of a job at the last commit of its partition.
struct WatchedJob {
  bool found = false;
  bool ended = false;
  engine::JobIdentity identity;
  std::string rule_set_hash;  // hash of the partition's active rule set
};

// Implementations are thread-safe.
class RunningJobs {
 public:
  virtual ~RunningJobs() = default;
  // Returns true if this processor owns the job's partition.
  virtual bool Owns(const std::string& job) const = 0;
  // Returns true if partition `partition` of a topic with `partitions` partitions may contain
  // records for this processor's jobs.
  virtual bool MayOwn(int32_t partition, int32_t partitions) const = 0;
  // Replaces the list of watched jobs.
  virtual void Watch(const std::vector<std::string>& jobs) = 0;
  // Returns the state of a watched job. Returns nullopt if no commit has recorded the job yet, if
  // the job's partition is replaying old records, or if another processor owns the partition.
  virtual std::optional<WatchedJob> Watched(const std::string& job) const = 0;
  // Activates another rule set.
  virtual Status SetRules(engine::CompiledRulesPtr rules) = 0;
};

}  // namespace pitwall::processor
