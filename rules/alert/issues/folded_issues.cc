#include "rules/alert/issues/folded_issues.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rules/alert/label_codec.h"

namespace pitwall::alert {
namespace {

void SaveElement(const FoldedElement& element, LabelsWriter& labels, BinaryWriter& out) {
  labels.Write(element.labels);
  out.Double(element.value);
}

FoldedElement ReadElement(LabelsReader& labels, BinaryReader& in) {
  FoldedElement element;
  element.labels = labels.Read();
  element.value = in.Double();
  return element;
}

}  // namespace

Labels FoldedIssues::IssueLabels(const Labels& labels) const {
  std::vector<Label> kept;
  for (const Label& label : labels) {
    if (std::find(fold_.begin(), fold_.end(), label.name) == fold_.end()) kept.push_back(label);
  }
  return Labels::FromPairs(std::move(kept));
}

FoldedElement FoldedIssues::ElementOf(const Labels& labels, double value) const {
  std::vector<Label> folded;
  for (const Label& label : labels) {
    if (std::find(fold_.begin(), fold_.end(), label.name) != fold_.end()) folded.push_back(label);
  }
  return {Labels::FromPairs(std::move(folded)), value};
}

bool FoldedIssues::IsWorse(double value, double than) const {
  if (std::isnan(value)) return false;
  if (std::isnan(than)) return true;
  return least_is_worst_ ? value < than : value > than;
}

void FoldedIssues::Count(const Alert& alert, const EvalTime& at, Issue* issue) const {
  ++issue->firing;
  if (issue->last_seen.position < alert.last_seen.position) issue->last_seen = alert.last_seen;
  const auto rank = [&](const Alert& a) {
    return std::pair(a.last_seen.position == at.position, a.labels == issue->lead);
  };
  if (issue->leads == nullptr || rank(*issue->leads) < rank(alert)) issue->leads = &alert;
  if (issue->summary.count == 0 || IsWorse(alert.value, issue->summary.worst.value))
    issue->summary.worst = ElementOf(alert.labels, alert.value);
  issue->summary.count = std::max(issue->summary.count, issue->firing);
}

bool FoldedIssues::Follow(Issue* issue) const {
  const Alert& lead = *issue->leads;
  if (issue->lead != lead.labels) issue->lead = lead.labels;
  if (issue->element != lead.element) issue->element = lead.element;
  issue->value = lead.value;  // value at its last_seen
  return issue->annotations != lead.text.annotations ||
         issue->summary.count > issue->reported_count;
}

void FoldedIssues::Step(const Alerts& alerts, std::vector<Transition>& happened, const EvalTime& at,
                        std::vector<Transition>* out) {
  for (auto& [labels, issue] : issues_) {
    issue.leads = nullptr;
    issue.firing = 0;
  }
  for (Transition& t : happened) {
    if (t.kind == TransitionKind::kPending || t.kind == TransitionKind::kDropped) {
      out->push_back(std::move(t));
    } else if (t.kind == TransitionKind::kFound) {
      Issue& issue = issues_[IssueLabels(t.labels)];
      if (issue.started.position == Position() && issue.sequence == 0) {
        issue.active = t.active;
        issue.started = t.started;
      } else if (issue.sequence == 0 && t.active.position < issue.active.position) {
        issue.active = t.active;
      }
      std::vector<FoldedElement>& named = issue.summary.named;
      FoldedElement element = ElementOf(t.labels, t.value);
      const bool known = std::any_of(named.begin(), named.end(), [&](const FoldedElement& e) {
        return e.labels == element.labels;
      });
      if (!known && named.size() < kMaxFoldedNames) named.push_back(std::move(element));
    } else if (t.kind == TransitionKind::kResolved) {
      const auto issue = issues_.find(IssueLabels(t.labels));
      if (issue != issues_.end()) issue->second.end_reason = t.end_reason;
    }
  }
  for (const auto& alert : alerts) {
    if (!alert->firing) continue;
    if (const auto issue = issues_.find(IssueLabels(alert->labels)); issue != issues_.end())
      Count(*alert, at, &issue->second);
  }
  for (auto it = issues_.begin(); it != issues_.end();) {
    const Labels& labels = it->first;
    Issue& issue = it->second;
    if (issue.firing == 0) {
      ++issue.sequence;
      Report(TransitionKind::kResolved, labels, issue, at, out);
      out->back().end_reason = issue.end_reason;
      it = issues_.erase(it);
      continue;
    }
    ++it;
    const bool news = Follow(&issue);
    const Duration quiet = at.time - issue.last_event;
    const bool fresh = issue.sequence == 0;
    if (!fresh && (quiet < options_.min_update ||
                   !(news || issue.root_cause_changed || quiet >= options_.max_update)))
      continue;
    ++issue.sequence;
    issue.last_event = at.time;
    issue.root_cause_changed = false;
    issue.reported_count = issue.summary.count;
    issue.annotations = issue.leads->text.annotations;
    Report(fresh ? TransitionKind::kFound : TransitionKind::kUpdated, labels, issue, at, out);
  }
}

void FoldedIssues::EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out) {
  for (auto& [labels, issue] : issues_) {
    ++issue.sequence;
    Report(TransitionKind::kResolved, labels, issue, at, out);
    out->back().end_reason = reason;
  }
  issues_.clear();
}

bool FoldedIssues::SetRootCause(const Labels& labels, std::string_view root_cause, bool reported) {
  const auto at = issues_.find(labels);
  if (at == issues_.end()) return false;
  Issue& issue = at->second;
  if (issue.root_cause != root_cause) {
    issue.root_cause = root_cause;
    issue.root_cause_changed = true;
  }
  if (reported) issue.root_cause_changed = false;
  return true;
}

void FoldedIssues::Report(TransitionKind kind, const Labels& labels, const Issue& issue,
                          const EvalTime& at, std::vector<Transition>* out) {
  Transition t;
  t.kind = kind;
  t.at = at;
  t.labels = labels;
  t.element = issue.element;
  t.value = issue.value;
  t.active = issue.active;
  t.started = issue.started;
  t.last_seen = issue.last_seen;
  t.sequence = issue.sequence;
  t.annotations = issue.annotations;
  t.root_cause = issue.root_cause;
  t.folded = issue.summary;
  out->push_back(std::move(t));
}

void FoldedIssues::Save(BinaryWriter& out) const {
  out.U64(issues_.size());
  LabelsWriter labels(out);
  for (const auto& [key, issue] : issues_) {
    labels.Write(key);
    SaveEvalTime(out, issue.active);
    SaveEvalTime(out, issue.started);
    SaveEvalTime(out, issue.last_seen);
    out.U64(issue.sequence);
    out.I64(issue.last_event.ns());
    labels.Write(issue.lead);
    labels.Write(issue.element);
    out.Double(issue.value);
    out.U64(issue.summary.named.size());
    for (const FoldedElement& element : issue.summary.named) SaveElement(element, labels, out);
    SaveElement(issue.summary.worst, labels, out);
    out.U64(issue.summary.count);
    out.U64(issue.reported_count);
    SaveAnnotations(issue.annotations, out);
    out.Str(issue.root_cause);
    out.Bool(issue.root_cause_changed);
  }
}

void FoldedIssues::Restore(BinaryReader& in) {
  issues_.clear();
  const size_t n = in.Count(20);
  LabelsReader labels(in);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    Labels key = labels.Read();
    Issue issue;
    issue.active = ReadEvalTime(in);
    issue.started = ReadEvalTime(in);
    issue.last_seen = ReadEvalTime(in);
    issue.sequence = in.U64();
    issue.last_event = EventTime::FromNs(in.I64());
    issue.lead = labels.Read();
    issue.element = labels.Read();
    issue.value = in.Double();
    const size_t named = in.Count(9);
    if (named > kMaxFoldedNames) in.Fail();
    for (size_t k = 0; k < named && in.ok(); ++k)
      issue.summary.named.push_back(ReadElement(labels, in));
    issue.summary.worst = ReadElement(labels, in);
    issue.summary.count = in.U64();
    issue.reported_count = in.U64();
    issue.annotations = ReadAnnotations(in);
    issue.root_cause = in.Str();
    issue.root_cause_changed = in.Bool();
    if (!issues_.emplace(std::move(key), std::move(issue)).second) in.Fail();
  }
  if (!in.ok()) issues_.clear();
}

}  // namespace pitwall::alert
