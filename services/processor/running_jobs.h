// Interface to the processor's running jobs, used to change their rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/engine/program/compiled_rules.h"

namespace pitwall::processor {

// State of a job as of its partition's last commit.
struct WatchedJob {
  bool found = false;
  bool ended = false;
  engine::JobIdentity identity;
  std::string rule_set_hash;  // active rule set of its partition
};

// Implementations are thread-safe.
class RunningJobs {
 public:
  virtual ~RunningJobs() = default;
  // Returns true if the job belongs to a partition of this processor.
  virtual bool Owns(const std::string& job) const = 0;
  // Returns true if, in a topic with `partitions` partitions, the given partition may contain
  // records for jobs of this processor.
  virtual bool MayOwn(int32_t partition, int32_t partitions) const = 0;
  // Replaces the list of watched jobs.
  virtual void Watch(const std::vector<std::string>& jobs) = 0;
  // Returns nullopt if no commit has recorded the job yet, if its partition is replaying old
  // records, or if another processor owns it.
  virtual std::optional<WatchedJob> Watched(const std::string& job) const = 0;
  // Activates another rule set.
  virtual Status SetRules(engine::CompiledRulesPtr rules) = 0;
};

}  // namespace pitwall::processor
