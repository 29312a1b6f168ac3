// Index of the jobs in the issues topic, with their attempts, outcomes, rule statuses, and issues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/io/issue_source.h"
#include "services/io/rule_verdict.h"
#include "services/model/issues/issue.h"

namespace pitwall {

struct AttemptRecord {
  uint64_t attempt = 0;
  int64_t began_ns = 0;  // 0 if unknown
  int64_t ended_ns = 0;  // 0 while running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;                            // formatted by JobEndText
  std::vector<std::pair<int64_t, LostRank>> lost;  // pairs of (time, rank)
};

struct JobRecord {
  std::string id, name, owner;
  int64_t first_ns = 0, last_ns = 0;  // times of the job's first and last event
  int64_t ended_ns = 0;               // 0 while running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;  // formatted by JobEndText
  std::map<uint64_t, AttemptRecord> attempts;
  std::map<std::string, std::vector<IssueEventPtr>> statuses;  // by rule, newest status last
  std::map<std::string, IssueEventPtr> open_issues;            // newest event by issue ID
  std::map<std::string, IssueEventPtr> ended_issues;           // newest event by issue ID
  size_t ended_count = 0;                                      // includes issues beyond the limit
  std::map<std::string, uint64_t> found;                       // number of issues found, by rule

  bool ended() const { return ended_ns != 0; }
  // Returns a rule's verdict. After a job has ended, the verdict is the last status reported while
  // the job's ranks were sending data.
  RuleVerdict VerdictOf(const std::string& rule) const;
  uint64_t FoundBy(const std::string& rule) const {
    const auto at = found.find(rule);
    return at == found.end() ? 0 : at->second;
  }
};

// Index built from events in partition order. Keeps the `max_jobs` jobs with the newest events. For
// each job, keeps the most recently ended issues and the last eight statuses of each rule. Not
// thread-safe.
class JobsFromTopic {
 public:
  explicit JobsFromTopic(size_t max_jobs = 10'000, size_t max_ended_issues = 200)
      : max_jobs_(max_jobs), max_ended_issues_(max_ended_issues) {}

  void Apply(const IssueEventPtr& event);

  // Returns the jobs, sorted by start time, oldest first.
  std::vector<const JobRecord*> Jobs() const;
  // Finds a job by ID, name, or ID prefix. Returns InvalidArgument if several jobs match.
  StatusOr<const JobRecord*> Find(std::string_view job) const;

 private:
  void ApplyChange(const IssueEvent& event, JobRecord* job);
  void ApplyIssue(const IssueEventPtr& event, JobRecord* job);

  const size_t max_jobs_;
  const size_t max_ended_issues_;
  std::map<std::string, JobRecord, std::less<>> jobs_;
};

}  // namespace pitwall
