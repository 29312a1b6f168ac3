// Published issues of a partition: its open issues and the last status of each rule. Used by
// recovery after a loss of state to end open issues.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/engine/job/job.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"

namespace pitwall::processor {

class PublishedIssues {
 public:
  // Reads the whole partition of the topic.
  static StatusOr<PublishedIssues> Read(Log* log, int32_t partition);

  // Returns the jobs with an open issue or with statuses that have not ended.
  std::vector<std::string> Jobs() const;
  // Ends every open issue of the job with `no_data`, at `time_ns` or its last event, whichever is
  // later.
  void EndIssues(const std::string& job, int64_t time_ns, std::vector<IssueEvent>* out) const;
  // Ends the statuses of a job that no longer exists.
  void StopRules(const std::string& job, std::string_view reason,
                 std::vector<IssueEvent>* out) const;
  // Emits the statuses that differ from the published ones.
  void EmitStatuses(const engine::Job& job, std::vector<IssueEvent>* out) const;

 private:
  // By job; then by IssueKey, and by rule.
  std::map<std::string, std::map<std::string, IssueEvent, std::less<>>, std::less<>> open_;
  std::map<std::string, std::map<std::string, IssueEvent, std::less<>>, std::less<>> statuses_;
};

}  // namespace pitwall::processor
