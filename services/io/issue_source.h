// Interface for reading issues: list, get, and watch. services/notifier implements it on top of
// pitwall.issues; services/adapters/grpc exposes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/issues/issue.h"
#include "services/model/issues/silenced_issue.h"

namespace pitwall {

using IssueEventPtr = std::shared_ptr<const IssueEvent>;

// Filter for events. An empty field matches everything. Rule status events and job changes match
// only if they are requested; rule, severity, and incident do not apply to job changes.
struct IssueFilter {
  std::string job;
  std::string rule;  // or a suffix of the rule's name (RuleMatches)
  std::string severity;
  bool include_status = false;
  std::string incident;  // issue ID or a prefix of it
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
  int32_t page_size = 0;   // 0 means 100; maximum 1000
  std::string page_token;  // from an earlier page with the same filter
};

struct IssuePage {
  std::vector<IssueEventPtr> issues;  // the last event of each issue, newest issue first
  std::string next_page_token;        // empty on the last page
  // A watch that starts with this token receives every event that the list does not include.
  std::string resume_token;
  std::vector<SilencedIssue> silenced;  // silenced issues in `issues`
};

struct WatchQuery {
  IssueFilter filter;
  std::string resume_token;  // resumes directly after this token; if empty, starts with new events
  bool from_start = false;   // without a token, starts with the oldest event in the topic
  bool until_now = false;    // ends at the position where the topic ended when the watch started
};

struct WatchBatch {
  std::vector<IssueEventPtr> events;  // empty in a bookmark
  std::string resume_token;
  bool last = false;  // no more events follow; only with until_now
};

// Position of one watcher in the stream. Only one thread may call Next. Any thread may call Cancel.
class IssueWatch {
 public:
  virtual ~IssueWatch() = default;
  // Returns up to `max_events` matching events, waiting up to `timeout` for the first one. Returns
  // a bookmark if no event arrived. Returns OutOfRange if the next events were deleted from the
  // topic. Returns ResourceExhausted if a live watcher has fallen behind the events in memory; it
  // may resume with its last token. Returns Cancelled after Cancel().
  virtual StatusOr<WatchBatch> Next(size_t max_events, Duration timeout) = 0;
  virtual void Cancel() = 0;
};

// Thread-safe. Methods return InvalidArgument for a malformed token, OutOfRange if the token is
// older than the topic, and Unavailable if the source is still reading the history or is stopping.
class IssueSource {
 public:
  virtual ~IssueSource() = default;
  virtual StatusOr<IssuePage> ListIssues(const IssueQuery& query) = 0;
  // Returns all stored events of an issue, oldest first. The issue is identified by an event ID or
  // a prefix of the issue ID. Returns NotFound if no issue matches, or InvalidArgument if the
  // prefix is ambiguous.
  virtual StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view id) = 0;
  // Starts a watch. The watch must not outlive the source. Returns ResourceExhausted if there are
  // too many watchers.
  virtual StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery& query) = 0;
};

}  // namespace pitwall
