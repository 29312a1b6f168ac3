// Bounded record of this node's recent launches and recently ended jobs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "services/collector/jobs/job_claim.h"
#include "services/collector/jobs/job_declaration.h"

namespace pitwall::collector {

// Last job of each launcher, with the launcher's restart count. Not thread-safe.
class RecentLaunches {
 public:
  // Returns the job of an earlier attempt if the claim is for its launcher's next attempt, or ""
  // otherwise.
  std::string Restarted(const JobClaim& claim) const;
  // Records a claim's job if the claim has a launcher with a restart count.
  void Remember(const JobClaim& claim, const std::string& job);

 private:
  struct Launch {
    std::string launcher, owner, name;
    std::string job;
    uint64_t restarts = 0;
    bool Has(const JobClaim& claim) const {
      return launcher == claim.launcher && owner == claim.owner && name == claim.job_name;
    }
  };

  std::deque<Launch> launches_;  // oldest first
};

// Jobs whose end is in the log. Later data for them would be dropped. Not thread-safe.
class RecentEnds {
 public:
  void Add(const std::string& id, const std::string& owner, bool declared);
  // Returns whether a job with this ID has ended.
  bool Contains(std::string_view id) const;
  // Returns whether the declared job has ended. A job that ended with the same ID but a different
  // owner is a different job.
  bool Covers(const JobDeclaration& job) const;

 private:
  struct Ended {
    std::string id;
    std::string owner;
    bool declared = false;
  };

  std::deque<Ended> ended_;  // oldest first
};

}  // namespace pitwall::collector
