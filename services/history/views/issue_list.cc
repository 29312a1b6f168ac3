#include "services/history/views/issue_list.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "services/base/text/strings.h"
#include "services/io/rule_verdict.h"
#include "services/model/issues/incident_roots.h"
#include "services/model/position.h"

namespace pitwall::history {
namespace {

bool IsOfIssue(const IssueEvent& event) {
  return event.type == EventType::kIssueFound || event.type == EventType::kIssueUpdated ||
         event.type == EventType::kIssueResolved;
}

int64_t StartOf(const Issue& issue) { return issue.newest().started_at.ns(); }

}  // namespace

int64_t Issue::onset_ns() const {
  for (const IssueEventPtr& event : events)
    if (event->onset != EventTime()) return event->onset.ns();
  return newest().active_since.ns();
}

int64_t Issue::stall_onset_ns() const {
  for (const IssueEventPtr& event : events)
    if (const int64_t onset_ns = StallOnset(*event); onset_ns != 0) return onset_ns;
  return 0;
}

std::optional<double> Issue::threshold() const {
  for (auto it = events.rbegin(); it != events.rend(); ++it)
    if ((*it)->threshold.has_value()) return (*it)->threshold;
  return std::nullopt;
}

const std::vector<Evidence>& Issue::evidence() const {
  for (auto it = events.rbegin(); it != events.rend(); ++it)
    if (!(*it)->evidence.empty()) return (*it)->evidence;
  return newest().evidence;
}

std::vector<Issue> IssuesOf(const std::vector<IssueEventPtr>& events) {
  std::map<std::string, Issue> by_id;
  for (const IssueEventPtr& event : events) {
    if (!IsOfIssue(*event)) continue;
    std::string id = IssueId(*event);
    Issue& issue = by_id[id];
    if (issue.id.empty()) issue.id = std::move(id);
    issue.events.push_back(event);
  }
  std::vector<Issue> out;
  for (auto& [id, issue] : by_id) {
    std::stable_sort(
        issue.events.begin(), issue.events.end(),
        [](const IssueEventPtr& a, const IssueEventPtr& b) { return a->sequence < b->sequence; });
    issue.events.erase(
        std::unique(issue.events.begin(), issue.events.end(),
                    [](const IssueEventPtr& a, const IssueEventPtr& b) { return a->id == b->id; }),
        issue.events.end());
    out.push_back(std::move(issue));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Issue& a, const Issue& b) { return StartOf(a) > StartOf(b); });
  return out;
}

StatusOr<Issue> FindIssue(const std::vector<Issue>& issues, std::string_view id) {
  std::vector<const Issue*> found;
  for (const Issue& issue : issues) {
    if (issue.id == id) return issue;
    const bool of_event = std::any_of(issue.events.begin(), issue.events.end(),
                                      [&](const IssueEventPtr& event) { return event->id == id; });
    if (of_event || (!id.empty() && StartsWith(issue.id, id))) found.push_back(&issue);
  }
  if (found.empty())
    return NotFound(Cat("id: not found (", Quote(id), "); list the issues to find a valid ID"));
  if (found.size() > 1) {
    return InvalidArgument(
        Cat("id: ", found.size(), " issues match (", Quote(id), "); specify a longer ID"));
  }
  return *found[0];
}

std::vector<Incident> IncidentsOf(const std::vector<Issue>& issues) {
  std::map<std::string, std::vector<const Issue*>> groups;
  for (const Issue& issue : issues) {
    const std::string& incident = issue.newest().incident;
    groups[incident.empty() ? issue.id : incident].push_back(&issue);
  }
  std::vector<Incident> out;
  for (const auto& [id, members] : groups) {
    Incident incident;
    incident.id = id;
    std::vector<IncidentIssue> sorted;
    for (const Issue* issue : members) sorted.push_back({issue->id, &issue->newest()});
    SortByRoot(&sorted);
    incident.likely_roots = LikelyRoots(sorted);
    for (const IncidentIssue& one : sorted) {
      const Issue& issue = **std::find_if(members.begin(), members.end(),
                                          [&](const Issue* m) { return m->id == one.id; });
      incident.issues.push_back(issue);
      incident.open = incident.open || issue.open();
    }
    incident.started_ns = INT64_MAX;
    const std::string* worst = nullptr;
    for (const Issue& issue : incident.issues) {
      const IssueEvent& newest = issue.newest();
      incident.started_ns = std::min(incident.started_ns, newest.started_at.ns());
      incident.ended_ns = std::max(incident.ended_ns, newest.ended_at.ns());
      if (incident.open && !issue.open()) continue;
      if (worst == nullptr || SeverityRank(newest.severity) < SeverityRank(*worst))
        worst = &newest.severity;
    }
    if (worst != nullptr) incident.severity = *worst;
    if (incident.open) incident.ended_ns = 0;
    out.push_back(std::move(incident));
  }
  std::stable_sort(out.begin(), out.end(), [](const Incident& a, const Incident& b) {
    return a.started_ns > b.started_ns;
  });
  return out;
}

namespace {

// Returns the time of the newest data from an ended job's ranks, or EventTime::Latest() if the
// job is running or no rank is known.
EventTime DataUntil(const JobOverview& life) {
  if (life.ended_ns == 0) return EventTime::Latest();
  int64_t until_ns = kMinPosition;
  for (const auto& [id, source] : life.sources) {
    if (source.rank >= 0) until_ns = std::max(until_ns, source.last_ns);
  }
  return until_ns == kMinPosition ? EventTime::Latest() : EventTime::FromNs(until_ns);
}

}  // namespace

std::vector<RuleState> RuleStatesOf(const JobOverview& life,
                                    const std::vector<IssueEventPtr>& events) {
  const EventTime data_until = DataUntil(life);
  std::map<std::string, RuleState> states;
  std::map<std::string, std::vector<IssueEventPtr>> statuses;
  for (const IssueEventPtr& event : events) {
    if (event->rule.empty()) continue;
    RuleState& state = states[event->rule];
    state.rule = event->rule;
    if (event->type == EventType::kRuleStatus) {
      statuses[event->rule].push_back(event);
      state.status = event->status;
      state.reason = event->status_reason;
      state.ever_found = state.ever_found || event->ever_found;
    }
  }
  for (const Issue& issue : IssuesOf(events)) {
    RuleState& state = states[issue.newest().rule];
    ++state.found;
    state.ever_found = true;
    state.open += issue.open() ? 1 : 0;
    state.last_found_ns = std::max(state.last_found_ns, StartOf(issue));
  }
  std::vector<RuleState> out;
  for (auto& [name, state] : states) {
    state.verdict = VerdictOf(statuses[name], data_until);
    state.since_ns = state.verdict.since.ns();
    out.push_back(std::move(state));
  }
  return out;
}

}  // namespace pitwall::history
