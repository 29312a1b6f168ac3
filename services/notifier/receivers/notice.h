// Notification of an incident, before a receiver formats it.
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

// Issue of an incident, as of its newest event.
struct NoticeIssue {
  std::string id;
  EventPtr event;
};

// Immutable once made. Times are event times, Unix nanoseconds.
struct Notice {
  std::string id;  // the same for each attempt
  // kIssueFound, kIssueUpdated, or kIssueResolved, for the incident.
  EventType kind = EventType::kIssueFound;
  std::string incident;
  int64_t time_ns = 0;
  int64_t began_ns = 0;
  std::string severity;  // the highest of its issues
  std::string summary;   // of the root cause, with the number of issues
  bool other_root = false;
  size_t issue_count = 0;
  size_t open_count = 0;
  std::string node;                 // for an incident of a node
  std::vector<std::string> jobs;    // jobs with issues of it; only with `node`
  std::vector<NoticeIssue> issues;  // the root cause first, at most kMaxDescribed
  std::vector<std::string> issue_ids;

  static constexpr size_t kMaxDescribed = 50;
  const IssueEvent& root() const { return *issues.front().event; }
  bool open() const { return open_count > 0; }
};

bool IsOpen(const IssueEvent& event);
// Returns a title such as "StragglerRank{rank="2"}", without the labels alertname and severity.
std::string IssueTitle(const IssueEvent& event);
// Returns "io.pitwall.incident.found" and so on.
std::string_view NoticeType(EventType kind);
// Returns a CloudEvent in JSON (docs/notify.md).
std::string EncodeNotice(const Notice& notice);

}  // namespace pitwall::notifier
