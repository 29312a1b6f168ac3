// Jobs of all processes of a fleet, and the peers whose jobs are missing.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/history/job_overview.h"

namespace pitwall::history {

// Peers that did not respond. A history of one process has none.
class MissingPeers {
 public:
  void Add(int index, std::string reason) { reasons_.insert_or_assign(index, std::move(reason)); }
  void Add(const MissingPeers& other) {
    for (const auto& [index, reason] : other.reasons_) Add(index, reason);
  }
  bool empty() const { return reasons_.empty(); }
  size_t size() const { return reasons_.size(); }
  // Returns one message per missing peer, such as "jobs of peer 1 are missing: …".
  std::vector<std::string> Texts() const {
    std::vector<std::string> out;
    for (const auto& [index, reason] : reasons_)
      out.push_back(Cat("jobs of peer ", index, " are missing: ", reason));
    return out;
  }

 private:
  std::map<int, std::string> reasons_;  // by peer index
};

struct JobList {
  std::vector<JobLifePtr> jobs;  // sorted by the time of their newest data, newest first
  MissingPeers missing;
};

}  // namespace pitwall::history
