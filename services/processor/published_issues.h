// Published issues in a partition: open issues and the last status of each rule. After a loss of
// state, recovery uses this information to end open issues.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/job/job.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"

namespace pitwall::processor {

class PublishedIssues {
 public:
  // Reads the issues topic partition from start to end.
  static StatusOr<PublishedIssues> Read(Log* log, int32_t partition);

  // Returns the jobs that have an open issue or an active rule status.
  std::vector<std::string> Jobs() const;
  // Ends each of the job's open issues with reason `no_data`. The end time is `time` or the time
  // of the issue's last event, whichever is later.
  void EndIssues(const std::string& job, EventTime time, std::vector<IssueEvent>* out) const;
  // Emits Stopped statuses for the rules of a job that no longer exists.
  void StopRules(const std::string& job, std::string_view reason,
                 std::vector<IssueEvent>* out) const;
  // Emits statuses that differ from the published statuses.
  void EmitStatuses(const engine::Job& job, std::vector<IssueEvent>* out) const;

 private:
  // Both maps are keyed by job ID, then by IssueKey or rule.
  std::map<std::string, std::map<std::string, IssueEvent, std::less<>>, std::less<>> open_;
  std::map<std::string, std::map<std::string, IssueEvent, std::less<>>, std::less<>> statuses_;
};

}  // namespace pitwall::processor
