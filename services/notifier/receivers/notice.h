// Notification about an incident, before a receiver formats it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/issues/issue.h"

namespace pitwall::notifier {

using EventPtr = std::shared_ptr<const IssueEvent>;

// Issue of an incident, represented by its newest event.
struct NoticeIssue {
  std::string id;
  EventPtr event;
};

// Immutable after construction. Times are event times in Unix nanoseconds.
struct Notice {
  std::string id;  // identical for every attempt
  // kIssueFound, kIssueUpdated, or kIssueResolved, with respect to the incident.
  EventType kind = EventType::kIssueFound;
  std::string incident;
  int64_t time_ns = 0;
  int64_t began_ns = 0;
  std::string severity;  // highest severity among the issues
  std::string summary;   // summary of the root cause, including the number of issues
  bool other_root = false;
  size_t issue_count = 0;
  size_t open_count = 0;
  std::string node;                 // set only for a node incident
  std::vector<std::string> jobs;    // jobs that have issues in the incident; set only with `node`
  std::vector<NoticeIssue> issues;  // root cause first; at most kMaxDescribed
  std::vector<std::string> issue_ids;

  static constexpr size_t kMaxDescribed = 50;
  const IssueEvent& root() const { return *issues.front().event; }
  bool open() const { return open_count > 0; }
};

bool IsOpen(const IssueEvent& event);
// Returns a title such as "StragglerRank{rank="2"}", without the labels alertname and severity.
std::string IssueTitle(const IssueEvent& event);
// Returns the CloudEvents type, such as "io.pitwall.incident.found".
std::string_view NoticeType(EventType kind);
// Encodes the notice as a JSON CloudEvent (docs/notify.md).
std::string EncodeNotice(const Notice& notice);

}  // namespace pitwall::notifier
