// Incidents for one receiver, with their issues and the last notice about each incident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

struct Incident {
  std::map<std::string, IssueEventPtr> issues;  // newest event by issue ID
  size_t open = 0;
  bool selected = false;  // true if an issue has a severity that the receiver accepts
  bool notified = false;
  uint64_t sequence = 0;       // sequence number of the last notice
  int64_t notified_at_ns = 0;  // event time of the last notice
  std::string notified_root;
  int notified_weight = 0;
  size_t notified_size = 0;
  int64_t began_ns = INT64_MAX;
  int64_t time_ns = 0;  // time of the incident's newest event
  size_t dropped = 0;   // number of ended issues that were sent in a notice and dropped
  std::string node;     // node of an incident that spans jobs, or "" for a single job
  std::vector<std::string> aliases;  // job incidents that this node incident includes
};

// Incidents by key. The key of a job incident is its own ID. A node incident has one key for all
// jobs on the node. Not thread-safe.
class IncidentTable {
 public:
  // Result of adding an event.
  struct Change {
    std::string key;
    Incident* incident = nullptr;  // valid until the incident is dropped
    IssueEventPtr previous;        // previous event of the issue; null if the issue is new
  };

  // Keeps at most `max_issues` issues.
  explicit IncidentTable(size_t max_issues);

  // Returns the key of the issue's incident.
  std::string KeyOf(const IssueEvent& event, const std::string& issue_id) const;
  // Adds the event to its incident. An incident with an unknown start counts as notified.
  Change Add(const IssueEventPtr& event);

  // Returns the incident, or null if the key is unknown.
  Incident* Find(std::string_view key);
  const Incident* Find(std::string_view key) const;
  bool Contains(std::string_view key) const { return incidents_.contains(key); }
  size_t size() const { return incidents_.size(); }

  // Drops the ended issues of the incident, and counts them in `dropped`.
  void DropEndedIssues(Incident* incident);
  // Drops the incident, which must exist.
  void Drop(const std::string& key);
  // Drops the incidents that have had no events for the longest time, until the limit is met.
  void DropOldest();

 private:
  const size_t max_issues_;
  std::map<std::string, Incident, std::less<>> incidents_;
  std::map<std::string, std::string, std::less<>> aliases_;  // job incident -> node incident
  std::set<std::pair<int64_t, std::string>> by_age_;         // (time_ns, incident ID)
  size_t issues_ = 0;
};

}  // namespace pitwall::notifier
