#include "services/notifier/feed/issue_index.h"

#include <algorithm>
#include <map>
#include <set>

namespace pitwall::notifier {

struct IssueIndex::Issue {
  std::string id;
  int64_t active_since_ns = 0;
  bool open = true;
  std::vector<IssueEventPtr>
      events;  // never empty; the first known event is kept when later events are dropped
  const IssueEventPtr& last() const { return events.back(); }
};

IssueIndex::IssueIndex(IssueIndexLimits limits) : limits_(limits) {}
IssueIndex::~IssueIndex() = default;

void IssueIndex::Apply(const IssueEventPtr& event) {
  if (event->type == EventType::kRuleStatus || event->type == EventType::kJobChanged) return;
  const std::string id = IssueId(*event);
  MutexLock lock(&mutex_);
  if (issue_of_event_.contains(event->id)) return;
  std::unique_ptr<Issue>& slot = issues_[id];
  if (slot == nullptr) {
    slot = std::make_unique<Issue>();
    slot->id = id;
    slot->active_since_ns = event->active_since.ns();
    order_[{-slot->active_since_ns, id}] = slot.get();
  } else {
    if (event->sequence <= slot->last()->sequence) return;
    (slot->open ? open_by_age_ : ended_by_age_).erase({slot->last()->time.ns(), id});
  }
  Issue& issue = *slot;
  issue.events.push_back(event);
  issue.open = event->type != EventType::kIssueResolved;
  issue_of_event_.emplace(event->id, id);
  const size_t most =
      issue_of_event_.size() > limits_.max_events ? 2 : limits_.max_events_per_issue;
  while (issue.events.size() > std::max<size_t>(2, most)) {
    issue_of_event_.erase(issue.events[1]->id);
    issue.events.erase(issue.events.begin() + 1);
  }
  (issue.open ? open_by_age_ : ended_by_age_).insert({event->time.ns(), id});
  newest_time_ns_ = std::max(newest_time_ns_, event->time.ns());
  Trim();
}

void IssueIndex::Trim() {
  const int64_t newest = newest_time_ns_;
  const auto too_old = [newest](const std::set<AgeKey>& set, int64_t age_ns) {
    return !set.empty() && age_ns > 0 && newest - set.begin()->first > age_ns;
  };
  while (ended_by_age_.size() > limits_.max_ended || too_old(ended_by_age_, limits_.ended_age_ns)) {
    Forget(std::string(ended_by_age_.begin()->second));
  }
  while (open_by_age_.size() > limits_.max_open || too_old(open_by_age_, limits_.open_age_ns)) {
    ++open_forgotten_;
    Forget(std::string(open_by_age_.begin()->second));
  }
}

void IssueIndex::Forget(const std::string& id) {
  const auto at = issues_.find(id);
  const Issue& issue = *at->second;
  for (const IssueEventPtr& event : issue.events) issue_of_event_.erase(event->id);
  (issue.open ? open_by_age_ : ended_by_age_).erase({issue.last()->time.ns(), id});
  order_.erase({-issue.active_since_ns, id});
  issues_.erase(at);
}

std::vector<IssueEventPtr> IssueIndex::List(const IssueFilter& filter, bool include_ended,
                                            const PageCursor* after, size_t max, bool* more) const {
  std::vector<IssueEventPtr> out;
  *more = false;
  MutexLock lock(&mutex_);
  auto at = after == nullptr ? order_.begin()
                             : order_.upper_bound({-after->active_since_ns, after->issue});
  for (; at != order_.end(); ++at) {
    const Issue& issue = *at->second;
    if ((!issue.open && !include_ended) || !filter.Matches(*issue.last())) continue;
    if (out.size() == max) {
      *more = true;
      break;
    }
    out.push_back(issue.last());
  }
  return out;
}

std::vector<IssueEventPtr> IssueIndex::Events(std::string_view event_id) const {
  MutexLock lock(&mutex_);
  const auto id = issue_of_event_.find(event_id);
  // The issue ID may be known even if the first event is unknown.
  const auto issue =
      issues_.find(id == issue_of_event_.end() ? event_id : std::string_view(id->second));
  return issue == issues_.end() ? std::vector<IssueEventPtr>() : issue->second->events;
}

StatusOr<std::vector<IssueEventPtr>> IssueIndex::Find(std::string_view id) const {
  constexpr size_t kNamed = 3;
  if (id.empty()) return InvalidArgument("missing; `pitwall issues list --json` shows the IDs");
  std::vector<IssueEventPtr> events = Events(id);
  if (!events.empty()) return events;
  std::vector<std::string> found;
  size_t count = 0;
  {
    MutexLock lock(&mutex_);
    for (const auto& [at, issue] : order_) {
      if (!issue->id.starts_with(id)) continue;
      if (++count <= kNamed) found.push_back(issue->id);
    }
  }
  if (count == 0)
    return NotFound(
        Cat("issue ", Quote(id), ": not found; `pitwall issues list --all` shows the known IDs"));
  if (count > 1)
    return InvalidArgument(Cat("issue ", Quote(id), ": ", count, " issues have this prefix (",
                               Join(found, ", "), count > kNamed ? ", …" : "",
                               "); specify a longer prefix"));
  // The index may have dropped the issue since the lookup.
  events = Events(found[0]);
  if (events.empty()) return NotFound(Cat("issue ", Quote(id), ": not found"));
  return events;
}

std::map<std::pair<std::string, std::string>, size_t> IssueIndex::OpenCounts() const {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  MutexLock lock(&mutex_);
  for (const auto& [time, id] : open_by_age_) {
    const IssueEvent& event = *issues_.find(id)->second->last();
    ++counts[{event.rule, event.severity}];
  }
  return counts;
}

IssueIndexStats IssueIndex::stats() const {
  MutexLock lock(&mutex_);
  return {open_by_age_.size(), ended_by_age_.size(), open_forgotten_, newest_time_ns_};
}

}  // namespace pitwall::notifier
