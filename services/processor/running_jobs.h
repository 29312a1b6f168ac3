// Running jobs of the processor, for changes of their rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/engine/program/compiled_rules.h"

namespace pitwall::processor {

// State as of its partition's last commit.
struct WatchedJob {
  bool found = false;
  bool ended = false;
  engine::JobIdentity identity;
  std::string rule_set_hash;  // in force on its partition
};

// Thread-safe.
class RunningJobs {
 public:
  virtual ~RunningJobs() = default;
  // Returns true if a partition of this processor has the job.
  virtual bool Owns(const std::string& job) const = 0;
  // Returns true if, in a topic with this number of partitions, this one can have records of such a
  // job.
  virtual bool MayOwn(int32_t partition, int32_t partitions) const = 0;
  // Replaces the list of watched jobs.
  virtual void Watch(const std::vector<std::string>& jobs) = 0;
  // Returns nothing if no commit has inspected the job yet, its partition reads old records again,
  // or another processor owns it.
  virtual std::optional<WatchedJob> Watched(const std::string& job) const = 0;
  // Activates another rule set.
  virtual Status SetRules(engine::CompiledRulesPtr rules) = 0;
};

}  // namespace pitwall::processor
