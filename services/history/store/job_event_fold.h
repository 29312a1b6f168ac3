// State of a job derived from its events: attempts, end, and issues. It depends only on the events
// and their order.
#pragma once

#include <map>
#include <string>

#include "services/history/job_overview.h"
#include "services/model/issues/issue.h"

namespace pitwall::history {

class JobEventFold {
 public:
  void OnEvent(const IssueEvent& event);
  // Sets the fields that are derived from events. Other fields are unchanged.
  void Fill(JobOverview* life) const;
  bool ended() const { return life_.ended_ns != 0; }
  int64_t ended_ns() const { return life_.ended_ns; }  // 0 while running
  bool empty() const { return life_.last_ns == 0; }

 private:
  struct OpenIssue {
    std::string severity;
    int64_t stalled_since_ns = 0;  // StallOnset of the issue's first event that reports a stall
  };

  void OnJobChanged(const IssueEvent& event);
  void OnOpen(const IssueEvent& event);
  AttemptLife* AttemptOf(uint64_t attempt);

  JobOverview life_;
  std::map<std::string, OpenIssue, std::less<>> open_;  // by issue ID
};

}  // namespace pitwall::history
