#include "services/engine/incidents/incidents.h"

#include <algorithm>
#include <set>
#include <utility>

#include "rules/alert/label_codec.h"

namespace pitwall::engine {

namespace {
constexpr uint8_t kFormatWithLevels = 5;  // as 4, plus each issue's level and time of its last rise
constexpr uint8_t kFormatWithPlaces = 4;  // as 3, plus each issue's `everywhere`
constexpr uint8_t kFormatWithNodes = 3;   // as 2, plus each issue's node
constexpr uint8_t kFormatWithOnsets = 1;  // also had the range of onsets per incident
// A value has risen if it is at least this many times the previous level.
constexpr double kRise = 1.5;
}  // namespace

IncidentTracker::IncidentTracker(const EngineOptions& options, EngineCounters* counters)
    : window_(options.incident_window),
      max_issues_(options.max_tracked_issues_per_job),
      counters_(counters),
      explanations_(options.incident_window),
      open_(options.incident_window, &explanations_) {}

void IncidentTracker::SetProgram(const plan::Program* program) {
  explanations_.SetProgram(program);
  for (const auto& [id, issue] : issues_) {
    explanations_.Add(*issue);
    if (!issue->cause_rule.empty() && !explanations_.Explains(issue->cause_rule, issue->alert))
      issue->cause_rule.clear();
  }
  dirty_ = dirty_ || !issues_.empty();
}

std::vector<IncidentTracker::RootCauseChange> IncidentTracker::Apply(std::span<IssueEvent> events,
                                                                     const NodesOfRanks& nodes_of) {
  std::vector<RootCauseChange> changed;
  std::vector<std::pair<TrackedIssue*, IssueEvent*>> told, ended;
  ++serial_;
  for (IssueEvent& event : events) {
    if (event.type == EventType::kRuleStatus || event.type == EventType::kJobChanged) continue;
    now_ = std::max(now_, event.time);
    ForgetEndedBefore(now_ - window_);
    const std::string id = IssueId(event);
    const auto found = issues_.find(id);
    TrackedIssue* issue = found == issues_.end() ? nullptr : found->second.get();
    if (event.type == EventType::kIssueFound && (issue == nullptr || !issue->open)) {
      // On the step clock, an issue can reappear with the same ID if several steps have the same
      // event time.
      if (issue != nullptr) Forget(id);
      issue = Begin(event, id, nodes_of);
    }
    event.incident = issue == nullptr ? id : issue->incident;
    if (issue == nullptr) continue;
    (event.type == EventType::kIssueResolved ? ended : told).emplace_back(issue, &event);
    issue->told = serial_;
    NoteRise(issue, event);
  }
  // If an issue is found while an incident's last issue ends (for example, because a label
  // changed), it joins that incident. Ends are therefore applied after all other events.
  for (const auto& [issue, event] : ended) End(issue, *event, nodes_of);
  if (dirty_) FindRootCauses(&changed);
  for (const auto& [issue, event] : told) {
    event->root_cause = issue->root_cause;
    issue->fresh = false;
  }
  gone_.clear();
  return changed;
}

TrackedIssue* IncidentTracker::Begin(const IssueEvent& event, const std::string& id,
                                     const NodesOfRanks& nodes_of) {
  if (issues_.size() >= max_issues_) {
    if (ended_.empty()) {
      ++counters_->untracked_issues;
      return nullptr;
    }
    const std::string oldest = ended_.begin()->second;
    Forget(oldest);
  }
  auto made = std::make_unique<TrackedIssue>();
  TrackedIssue* issue = made.get();
  issue->id = id;
  issue->rule = event.rule;
  issue->alert = event.alert;
  issue->labels = event.labels;
  const std::string_view rank = issue->labels.Get("rank");
  if (nodes_of != nullptr && !rank.empty() && !issue->labels.Has("node")) {
    const auto node = nodes_of().find(rank);
    if (node != nodes_of().end()) issue->node = node->second;
  }
  issue->onset = event.active_since;
  issue->level = event.value;
  issue->order = RootOrderOf(issue->labels, issue->onset);
  issue->fresh = true;
  FindEverywhere(issue, nodes_of);
  Join(issue);
  Open(issue);
  issues_[id] = std::move(made);
  explanations_.Add(*issue);
  dirty_ = true;
  return issue;
}

void IncidentTracker::NoteRise(TrackedIssue* issue, const IssueEvent& event) {
  if (event.type != EventType::kIssueUpdated || !(issue->level > 0) ||
      !(event.value >= kRise * issue->level))
    return;
  issue->level = event.value;
  issue->rose = event.time;
  dirty_ = true;
}

void IncidentTracker::Join(TrackedIssue* issue) {
  const TrackedIssue* tie = nullptr;
  for (const TrackedIssue* candidate :
       {explanations_.StrongestCause(*issue, /*open=*/true), open_.OwnSymptom(*issue),
        explanations_.StrongestCause(*issue, /*open=*/false), open_.Sibling(*issue)}) {
    // An ended issue's incident may have ended too.
    if (tie == nullptr && candidate != nullptr && incidents_.contains(candidate->incident))
      tie = candidate;
  }
  issue->incident = tie != nullptr ? tie->incident : issue->id;
}

// Adds the issue to the open issues and to its incident.
void IncidentTracker::Open(TrackedIssue* issue) {
  ++incidents_[issue->incident];
  open_.Add(issue);
}

void IncidentTracker::FindEverywhere(TrackedIssue* changed, const NodesOfRanks& nodes_of) {
  const bool of_rank = changed->labels.Has("rank");
  if (nodes_of == nullptr || !(of_rank || changed->labels.Has("node")) ||
      !explanations_.IsCause(changed->rule))
    return;
  const StringMap<std::string>& ranks = nodes_of();
  std::vector<TrackedIssue*> open;
  if (const OpenIssues::Ordered* same = open_.OfAlert(changed->alert); same != nullptr) {
    const auto is_alike = [&](const TrackedIssue* issue) {
      return issue->labels.Has("rank") == of_rank;
    };
    // Skips the scan if the issues cannot cover all ranks and did not cover them before.
    const auto alike = std::ranges::find_if(*same, is_alike);
    const bool was_everywhere = alike != same->end() && (*alike)->everywhere;
    if (of_rank && same->size() + 1 < ranks.size() && !was_everywhere) return;
    for (const TrackedIssue* issue : *same) {
      if (is_alike(issue)) open.push_back(issues_.find(issue->id)->second.get());
    }
  }
  if (changed->open) open.push_back(changed);
  std::set<std::string_view> places;
  for (const TrackedIssue* issue : open)
    places.insert(issue->labels.Get(of_rank ? "rank" : "node"));
  const bool everywhere = ranks.size() > 1 && std::ranges::all_of(ranks, [&](const auto& rank) {
                            const std::string_view place = of_rank ? rank.first : rank.second;
                            return !place.empty() && places.contains(place);
                          });
  for (TrackedIssue* issue : open) issue->everywhere = everywhere;
}

void IncidentTracker::End(TrackedIssue* issue, const IssueEvent& event,
                          const NodesOfRanks& nodes_of) {
  if (!issue->open) return;
  const auto incident = incidents_.find(issue->incident);
  if (--incident->second == 0) incidents_.erase(incident);
  open_.Remove(issue);
  explanations_.Remove(*issue);
  issue->open = false;
  FindEverywhere(issue, nodes_of);
  issue->ended_at = event.time;
  explanations_.Add(*issue);
  ended_.emplace(issue->ended_at, issue->id);
  dirty_ = true;
  // A removed rule explains nothing, and the effects of an attempt end with the attempt.
  if (event.end_reason != EndReason::kCleared && event.end_reason != EndReason::kNoData)
    Forget(issue->id);
}

// Removes an ended issue.
void IncidentTracker::Forget(const std::string& id) {
  const auto at = issues_.find(id);
  explanations_.Remove(*at->second);
  ended_.erase({at->second->ended_at, id});
  gone_.push_back(std::move(at->second));
  issues_.erase(at);
}

void IncidentTracker::ForgetEndedBefore(EventTime time) {
  while (!ended_.empty() && ended_.begin()->first < time) {
    const std::string id = ended_.begin()->second;
    Forget(id);
  }
}

const TrackedIssue* IncidentTracker::TopOf(const TrackedIssue* issue) {
  std::vector<TrackedIssue*> path;
  const TrackedIssue* top = issue;
  while (true) {
    if (top->top_serial == serial_) {
      top = top->top;
      break;
    }
    path.push_back(issues_.find(top->id)->second.get());
    const TrackedIssue* cause = explanations_.StrongestCause(*top, /*open=*/true);
    if (cause == nullptr) break;
    top = cause;
  }
  for (TrackedIssue* passed : path) {
    passed->top = top;
    passed->top_serial = serial_;
  }
  return top;
}

void IncidentTracker::FindRootCauses(std::vector<RootCauseChange>* changed) {
  dirty_ = false;
  for (const auto& [id, entry] : issues_) {
    TrackedIssue& issue = *entry;
    if (!issue.open) continue;
    std::string root = issue.root_cause;
    if (const TrackedIssue* cause = explanations_.StrongestCause(issue, /*open=*/true)) {
      root = TopOf(cause)->id;
      issue.cause_rule = cause->rule;
    } else if (issue.fresh) {
      // An issue that has just ended can still be the cause of a new issue. For older issues, it
      // was considered while it was open.
      if (const TrackedIssue* past = explanations_.StrongestCause(issue, /*open=*/false)) {
        root = past->root_cause.empty() ? past->id : past->root_cause;
        issue.cause_rule = past->rule;
      }
    } else if (const auto told = issues_.find(root);
               issue.cause_rule.empty() ||
               (told != issues_.end() && told->second->open && !Separates(*told->second, issue))) {
      root.clear();  // no longer a cause under the rules, or now affects all ranks or nodes
      issue.cause_rule.clear();
    }
    if (root == issue.root_cause) continue;
    issue.root_cause = std::move(root);
    changed->push_back({issue.rule, issue.labels, issue.root_cause, issue.told == serial_});
  }
}

void IncidentTracker::Clear() {
  explanations_.SetProgram(nullptr);
  issues_.clear();
  ended_.clear();
  incidents_.clear();
  open_.Clear();
  gone_.clear();
  dirty_ = false;
}

void IncidentTracker::Save(BinaryWriter& out) const {
  out.U8(kFormatWithLevels);
  out.I64(now_.ns());
  out.Bool(dirty_);
  out.U64(issues_.size());
  alert::LabelsWriter labels(out);
  for (const auto& [id, issue] : issues_) {
    out.Str(id);
    out.Str(issue->rule);
    out.Str(issue->alert);
    labels.Write(issue->labels);
    out.I64(issue->onset.ns());
    out.Str(issue->incident);
    out.Bool(issue->open);
    out.I64(issue->ended_at.ns());
    out.Str(issue->root_cause);
    out.Str(issue->cause_rule);
    out.Str(issue->node);
    out.Bool(issue->everywhere);
    out.Double(issue->level);
    out.I64(issue->rose.ns());
  }
}

void IncidentTracker::Restore(BinaryReader& in) {
  for (const auto& [id, issue] : issues_) explanations_.Remove(*issue);
  issues_.clear();
  ended_.clear();
  incidents_.clear();
  open_.Clear();
  const uint8_t format = in.U8();
  if (format < kFormatWithOnsets || format > kFormatWithLevels) in.Fail();
  now_ = EventTime::FromNs(in.I64());
  dirty_ = in.Bool();
  alert::LabelsReader labels(in);
  for (size_t n = in.Count(10); n > 0 && in.ok(); --n) {
    auto issue = std::make_unique<TrackedIssue>();
    issue->id = in.Str();
    issue->rule = in.Str();
    issue->alert = in.Str();
    issue->labels = labels.Read();
    issue->onset = EventTime::FromNs(in.I64());
    issue->incident = in.Str();
    issue->open = in.Bool();
    issue->ended_at = EventTime::FromNs(in.I64());
    issue->root_cause = in.Str();
    issue->cause_rule = in.Str();
    if (format >= kFormatWithNodes) issue->node = in.Str();
    if (format >= kFormatWithPlaces) issue->everywhere = in.Bool();
    if (format >= kFormatWithLevels) {
      issue->level = in.Double();
      issue->rose = EventTime::FromNs(in.I64());
    }
    if (!in.ok()) return;
    issue->order = RootOrderOf(issue->labels, issue->onset);
    std::unique_ptr<TrackedIssue>& slot = issues_[issue->id];
    if (slot != nullptr) return in.Fail();
    slot = std::move(issue);
    if (slot->open) {
      Open(slot.get());
    } else {
      ended_.emplace(slot->ended_at, slot->id);
    }
    explanations_.Add(*slot);
  }
  if (format != kFormatWithOnsets) return;
  if (in.Count(3) != incidents_.size()) return in.Fail();
  for (const auto& [id, open] : incidents_) {
    if (in.Str() != id) return in.Fail();
    in.I64();
    in.I64();
  }
}

}  // namespace pitwall::engine
