// Issues as their readers ask for them: list, get, watch. services/notifier implements it over
// pitwall.issues; services/adapters/grpc serves it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/model/issues/issue.h"
#include "services/model/issues/silenced_issue.h"

namespace pitwall {

using IssueEventPtr = std::shared_ptr<const IssueEvent>;

// Each empty field matches everything. Rule status events and changes of jobs match only when asked
// for; to the latter rule, severity and incident do not apply.
struct IssueFilter {
  std::string job;
  std::string rule;  // or an end of its name (RuleMatches)
  std::string severity;
  bool include_status = false;
  std::string incident;  // its id, or a beginning of it
  bool include_job_changes = false;

  bool Matches(const IssueEvent& event) const {
    if (event.type == EventType::kRuleStatus && !include_status) return false;
    if (event.type == EventType::kJobChanged)
      return include_job_changes && (job.empty() || job == event.job);
    return (job.empty() || job == event.job) && RuleMatches(rule, event.rule) &&
           (severity.empty() || severity == event.severity) &&
           event.incident.compare(0, incident.size(), incident) == 0;
  }
};

struct IssueQuery {
  IssueFilter filter;
  bool include_ended = false;
  int32_t page_size = 0;   // 0: 100; at most 1000
  std::string page_token;  // of an earlier page with the same filter
};

struct IssuePage {
  std::vector<IssueEventPtr> issues;  // the last event of each, newest issue first
  std::string next_page_token;        // empty: that was all
  std::string resume_token;  // watching from here misses nothing of what the list does not show
  std::vector<SilencedIssue> silenced;  // of `issues`
};

struct WatchQuery {
  IssueFilter filter;
  std::string resume_token;  // continue right after it; empty: from now on
  bool from_start = false;   // without a token: first everything that the topic still holds
  bool until_now = false;    // ends with what the topic holds at the start of the watch
};

struct WatchBatch {
  std::vector<IssueEventPtr> events;  // empty in a bookmark
  std::string resume_token;
  bool last = false;  // with until_now: everything was given
};

// One watcher's place in the stream. Next from one thread; Cancel from any.
class IssueWatch {
 public:
  virtual ~IssueWatch() = default;
  // The next matching events, at most `max_events`, waiting up to timeout_ns for the first; a
  // bookmark when there was none. OutOfRange: what comes next is gone from the topic.
  // ResourceExhausted: a watcher that was up to date has fallen further behind than is kept in
  // memory; it may come back with its last token. Cancelled: by Cancel().
  virtual StatusOr<WatchBatch> Next(size_t max_events, int64_t timeout_ns) = 0;
  virtual void Cancel() = 0;
};

// Thread-safe. InvalidArgument: malformed token. OutOfRange: the token is older than the topic.
// Unavailable: not ready yet (the history is still being read), or stopping.
class IssueSource {
 public:
  virtual ~IssueSource() = default;
  virtual StatusOr<IssuePage> ListIssues(const IssueQuery& query) = 0;
  // All remembered events of the issue that one of its events' ids names, or a beginning of its own
  // id, oldest first. NotFound; InvalidArgument: several issues begin so.
  virtual StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view id) = 0;
  // Must not outlive the source. ResourceExhausted: too many watchers.
  virtual StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery& query) = 0;
};

}  // namespace pitwall
