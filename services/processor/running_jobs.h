// Running jobs of the processor, for changes of their rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/engine/program/compiled_rules.h"

namespace pitwall::processor {

// As of its partition's last commit.
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
  // Whether a partition of this processor has the job.
  virtual bool Owns(const std::string& job) const = 0;
  // Whether a topic of so many partitions can have records of such a job in this one.
  virtual bool MayOwn(int32_t partition, int32_t partitions) const = 0;
  // In place of those named before.
  virtual void Watch(const std::vector<std::string>& jobs) = 0;
  // Nothing: nobody has looked since it is watched, its partition reads old records again, or
  // another processor owns it now.
  virtual std::optional<WatchedJob> Watched(const std::string& job) const = 0;
  // Puts another rule set in force.
  virtual Status SetRules(engine::CompiledRulesPtr rules) = 0;
};

}  // namespace pitwall::processor
