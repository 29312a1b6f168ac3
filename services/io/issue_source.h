// Source of issues for readers: list, get, and watch. services/notifier implements it over
// pitwall.issues; services/adapters/grpc exposes it.
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
  int32_t page_size = 0;   // 0: 100; maximum 1000
  std::string page_token;  // from an earlier page with the same filter
};

struct IssuePage {
  std::vector<IssueEventPtr> issues;  // the last event of each issue, newest issue first
  std::string next_page_token;        // empty: last page
  // A watch with this token receives every event that the list does not include.
  std::string resume_token;
  std::vector<SilencedIssue> silenced;  // in `issues`
};

struct WatchQuery {
  IssueFilter filter;
  std::string resume_token;  // continue directly after this token; empty: start with new events
  bool from_start = false;   // without a token: start with all events of the topic
  bool until_now = false;    // ends at the position that was the topic's end when the watch started
};

struct WatchBatch {
  std::vector<IssueEventPtr> events;  // empty in a bookmark
  std::string resume_token;
  bool last = false;  // with until_now: no more events follow
};

// Position of one watcher in the stream. Next is called from one thread, Cancel from any thread.
class IssueWatch {
 public:
  virtual ~IssueWatch() = default;
  // Returns the next matching events, at most `max_events`, and waits up to timeout_ns for the
  // first one. Returns a bookmark if there was none. OutOfRange: the next events were deleted from
  // the topic. ResourceExhausted: a live watcher has fallen behind the events in memory; it may
  // resume with its last token. Cancelled: Cancel() was called.
  virtual StatusOr<WatchBatch> Next(size_t max_events, int64_t timeout_ns) = 0;
  virtual void Cancel() = 0;
};

// Thread-safe. InvalidArgument: malformed token. OutOfRange: the token is older than the topic.
// Unavailable: the source is still reading the history or is stopping.
class IssueSource {
 public:
  virtual ~IssueSource() = default;
  virtual StatusOr<IssuePage> ListIssues(const IssueQuery& query) = 0;
  // Returns all stored events of an issue, oldest first. The issue is identified by an event ID or
  // a prefix of the issue ID. Errors: NotFound, or InvalidArgument for an ambiguous prefix.
  virtual StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view id) = 0;
  // Starts a watch, which must not outlive the source. ResourceExhausted: too many watchers.
  virtual StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery& query) = 0;
};

}  // namespace pitwall
