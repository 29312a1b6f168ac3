#include "services/engine/incidents.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "rules/alert/label_codec.h"

namespace pitwall::engine {

namespace {
constexpr uint8_t kFormat = 1;
}  // namespace

IncidentTracker::IncidentTracker(const EngineOptions& options, EngineCounters* counters)
    : window_ns_(options.incident_window_ns),
      max_issues_(options.max_tracked_issues_per_job),
      counters_(counters),
      explanations_(options.incident_window_ns) {}

void IncidentTracker::SetProgram(const plan::Program* program) {
  explanations_.SetProgram(program);
  for (const auto& [id, issue] : issues_) {
    explanations_.Add(*issue);
    if (!issue->cause_rule.empty() && !explanations_.Explains(issue->cause_rule, issue->alert))
      issue->cause_rule.clear();
  }
  dirty_ = dirty_ || !issues_.empty();
}

std::vector<IncidentTracker::RootCauseChange> IncidentTracker::Apply(std::span<IssueEvent> events) {
  std::vector<RootCauseChange> changed;
  std::vector<std::pair<TrackedIssue*, IssueEvent*>> told, ended;
  ++serial_;
  for (IssueEvent& event : events) {
    if (event.type == EventType::kRuleStatus || event.type == EventType::kJobChanged) continue;
    now_ns_ = std::max(now_ns_, event.time_ns);
    ForgetEndedBefore(now_ns_ - window_ns_);
    const std::string id = IssueId(event);
    const auto found = issues_.find(id);
    TrackedIssue* issue = found == issues_.end() ? nullptr : found->second.get();
    if (event.type == EventType::kIssueFound && (issue == nullptr || !issue->open)) {
      // On the step clock an issue can come again under its id: steps that end at one time.
      if (issue != nullptr) Forget(id);
      issue = Begin(event, id);
    }
    event.incident = issue == nullptr ? id : issue->incident;
    if (issue == nullptr) continue;
    (event.type == EventType::kIssueResolved ? ended : told).emplace_back(issue, &event);
    issue->told = serial_;
  }
  // What is found where the last issue of an incident ends (as when a label changes) belongs to it:
  // the ends come after.
  for (const auto& [issue, event] : ended) End(issue, *event);
  if (dirty_) FindRootCauses(&changed);
  for (const auto& [issue, event] : told) {
    event->root_cause = issue->root_cause;
    issue->fresh = false;
  }
  gone_.clear();
  return changed;
}

TrackedIssue* IncidentTracker::Begin(const IssueEvent& event, const std::string& id) {
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
  issue->onset_ns = event.active_since_ns;
  issue->fresh = true;
  Join(issue);
  issues_[id] = std::move(made);
  explanations_.Add(*issue);
  dirty_ = true;
  return issue;
}

void IncidentTracker::Join(TrackedIssue* issue) {
  const TrackedIssue* tie = nullptr;
  for (const TrackedIssue* candidate :
       {explanations_.StrongestCause(*issue, /*open=*/true), explanations_.FirstSymptom(*issue),
        explanations_.StrongestCause(*issue, /*open=*/false)}) {
    // The incident of one that has ended may be over.
    if (tie == nullptr && candidate != nullptr && incidents_.contains(candidate->incident))
      tie = candidate;
  }
  const int64_t onset = issue->onset_ns;
  if (tie != nullptr) {
    issue->incident = tie->incident;
  } else {
    issue->incident = issue->id;
    using Rank = std::tuple<int64_t, int64_t, std::string>;  // distance, first onset, id
    Rank best{window_ns_, INT64_MAX, ""};
    for (const auto& [id, incident] : incidents_) {
      const int64_t distance =
          std::max<int64_t>({0, incident.first_onset_ns - onset, onset - incident.last_onset_ns});
      Rank rank{distance, incident.first_onset_ns, id};
      if (rank > best) continue;
      best = std::move(rank);
      issue->incident = id;
    }
  }
  const auto [at, opened] = incidents_.try_emplace(issue->incident, Incident{0, onset, onset});
  Incident& incident = at->second;
  ++incident.open;
  incident.first_onset_ns = std::min(incident.first_onset_ns, onset);
  incident.last_onset_ns = std::max(incident.last_onset_ns, onset);
}

void IncidentTracker::End(TrackedIssue* issue, const IssueEvent& event) {
  if (!issue->open) return;
  const auto incident = incidents_.find(issue->incident);
  if (--incident->second.open == 0) incidents_.erase(incident);
  explanations_.Remove(*issue);
  issue->open = false;
  issue->ended_at_ns = event.time_ns;
  explanations_.Add(*issue);
  ended_.emplace(issue->ended_at_ns, issue->id);
  dirty_ = true;
  // A removed rule explains nothing, and what an attempt did ends with it.
  if (event.end_reason != EndReason::kCleared && event.end_reason != EndReason::kNoData)
    Forget(issue->id);
}

// Of an ended issue.
void IncidentTracker::Forget(const std::string& id) {
  const auto at = issues_.find(id);
  explanations_.Remove(*at->second);
  ended_.erase({at->second->ended_at_ns, id});
  gone_.push_back(std::move(at->second));
  issues_.erase(at);
}

void IncidentTracker::ForgetEndedBefore(int64_t time_ns) {
  while (!ended_.empty() && ended_.begin()->first < time_ns) {
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
      // One that has just ended has happened none the less; later it would have been met while it
      // was open.
      if (const TrackedIssue* past = explanations_.StrongestCause(issue, /*open=*/false)) {
        root = past->root_cause.empty() ? past->id : past->root_cause;
        issue.cause_rule = past->rule;
      }
    } else if (issue.cause_rule.empty()) {
      root.clear();  // the rules do not say it any more
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
  gone_.clear();
  dirty_ = false;
}

void IncidentTracker::Save(BinaryWriter& out) const {
  out.U8(kFormat);
  out.I64(now_ns_);
  out.Bool(dirty_);
  out.U64(issues_.size());
  alert::LabelsWriter labels(out);
  for (const auto& [id, issue] : issues_) {
    out.Str(id);
    out.Str(issue->rule);
    out.Str(issue->alert);
    labels.Write(issue->labels);
    out.I64(issue->onset_ns);
    out.Str(issue->incident);
    out.Bool(issue->open);
    out.I64(issue->ended_at_ns);
    out.Str(issue->root_cause);
    out.Str(issue->cause_rule);
  }
  out.U64(incidents_.size());
  for (const auto& [id, incident] : incidents_) {
    out.Str(id);
    out.I64(incident.first_onset_ns);
    out.I64(incident.last_onset_ns);
  }
}

void IncidentTracker::Restore(BinaryReader& in) {
  for (const auto& [id, issue] : issues_) explanations_.Remove(*issue);
  issues_.clear();
  ended_.clear();
  incidents_.clear();
  if (in.U8() != kFormat) in.Fail();
  now_ns_ = in.I64();
  dirty_ = in.Bool();
  alert::LabelsReader labels(in);
  for (size_t n = in.Count(10); n > 0 && in.ok(); --n) {
    auto issue = std::make_unique<TrackedIssue>();
    issue->id = in.Str();
    issue->rule = in.Str();
    issue->alert = in.Str();
    issue->labels = labels.Read();
    issue->onset_ns = in.I64();
    issue->incident = in.Str();
    issue->open = in.Bool();
    issue->ended_at_ns = in.I64();
    issue->root_cause = in.Str();
    issue->cause_rule = in.Str();
    if (!in.ok()) return;
    if (!issue->open) ended_.emplace(issue->ended_at_ns, issue->id);
    if (issue->open) ++incidents_[issue->incident].open;
    std::unique_ptr<TrackedIssue>& slot = issues_[issue->id];
    if (slot != nullptr) return in.Fail();
    slot = std::move(issue);
    explanations_.Add(*slot);
  }
  if (in.Count(3) != incidents_.size()) return in.Fail();
  for (auto& [id, incident] : incidents_) {
    if (in.Str() != id) return in.Fail();
    incident.first_onset_ns = in.I64();
    incident.last_onset_ns = in.I64();
  }
}

}  // namespace pitwall::engine
