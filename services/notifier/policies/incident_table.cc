#include "services/notifier/policies/incident_table.h"

#include <algorithm>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/model/issues/incident_roots.h"

namespace pitwall::notifier {

IncidentTable::IncidentTable(size_t max_issues) : max_issues_(std::max<size_t>(1, max_issues)) {}

std::string IncidentTable::KeyOf(const IssueEvent& event, const std::string& issue_id) const {
  // The engine assigns no incident to issues above its limit, so each of them forms its own
  // incident.
  const std::string& id = event.incident.empty() ? issue_id : event.incident;
  if (const auto alias = aliases_.find(id); alias != aliases_.end()) return alias->second;
  if (id != issue_id || event.labels.Get("scope") != "node" || !event.labels.Has("node")) return id;
  return StableHashHex(Cat("node\xff", event.rule, "\xff", event.labels.ToString()));
}

IncidentTable::Change IncidentTable::Add(const IssueEventPtr& event) {
  const std::string issue_id = IssueId(*event);
  const std::string id = KeyOf(*event, issue_id);
  const auto [at, fresh] = incidents_.try_emplace(id);
  Incident& incident = at->second;
  const std::string& of_job = event->incident.empty() ? issue_id : event->incident;
  if (id != of_job && aliases_.try_emplace(of_job, id).second) {
    incident.aliases.push_back(of_job);
    incident.node = std::string(event->labels.Get("node"));
  }
  if (!fresh) by_age_.erase({incident.time_ns, id});
  incident.time_ns = event->time.ns();
  by_age_.emplace(incident.time_ns, id);
  IssueEventPtr& slot = incident.issues[issue_id];
  if (slot == nullptr) {
    ++issues_;
  } else {
    incident.open -= IsOpen(*slot) ? 1 : 0;
  }
  if (fresh && event->sequence > 1) {
    incident.notified = true;
    incident.notified_at_ns = event->time.ns();
    incident.notified_weight = SeverityRank(event->severity);
    incident.notified_size = 1;
    incident.notified_root = issue_id;
  }
  IssueEventPtr previous = std::exchange(slot, event);
  incident.open += IsOpen(*event) ? 1 : 0;
  incident.began_ns = std::min(incident.began_ns, event->active_since.ns());
  return {id, &incident, std::move(previous)};
}

Incident* IncidentTable::Find(std::string_view key) {
  const auto at = incidents_.find(key);
  return at == incidents_.end() ? nullptr : &at->second;
}

const Incident* IncidentTable::Find(std::string_view key) const {
  const auto at = incidents_.find(key);
  return at == incidents_.end() ? nullptr : &at->second;
}

void IncidentTable::DropEndedIssues(Incident* incident) {
  std::erase_if(incident->issues, [&](const auto& issue) {
    const bool drop = !IsOpen(*issue.second);
    issues_ -= drop;
    incident->dropped += drop;
    return drop;
  });
}

void IncidentTable::Drop(const std::string& key) {
  const auto at = incidents_.find(key);
  issues_ -= at->second.issues.size();
  by_age_.erase({at->second.time_ns, key});
  for (const std::string& alias : at->second.aliases) aliases_.erase(alias);
  incidents_.erase(at);
}

void IncidentTable::DropOldest() {
  while (issues_ > max_issues_ && by_age_.size() > 1) Drop(std::string(by_age_.begin()->second));
}

}  // namespace pitwall::notifier
