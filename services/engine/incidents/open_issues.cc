#include "services/engine/incidents/open_issues.h"

#include <algorithm>
#include <iterator>

namespace pitwall::engine {

namespace {
// Maximum error of an onset. An onset is the time when an expression first became true, so onsets
// of two rules about the same problem differ by the length of their windows.
constexpr Duration kOnsetError = Duration::Seconds(30);
}  // namespace

void OpenIssues::Remove(const TrackedIssue* issue) {
  const auto same = by_alert_.find(issue->alert);
  if (same == by_alert_.end()) return;
  same->second.erase(issue);
  if (same->second.empty()) by_alert_.erase(same);
}

const OpenIssues::Ordered* OpenIssues::OfAlert(std::string_view alert) const {
  const auto found = by_alert_.find(alert);
  return found == by_alert_.end() ? nullptr : &found->second;
}

const TrackedIssue* OpenIssues::Closest(const Ordered& issues, EventTime onset) const {
  TrackedIssue at;  // search key: precedes all issues at or after the onset
  at.onset = onset;
  const auto after = issues.lower_bound(&at);
  const TrackedIssue* closest = nullptr;
  if (after != issues.begin() && onset - (*std::prev(after))->onset <= window_)
    closest = *std::prev(after);
  if (after != issues.end() && (*after)->onset - onset <= window_ &&
      (closest == nullptr || (*after)->onset - onset < onset - closest->onset)) {
    closest = *after;
  }
  return closest;
}

const TrackedIssue* OpenIssues::Sibling(const TrackedIssue& issue) const {
  if (const auto same = by_alert_.find(issue.alert); same != by_alert_.end()) {
    if (const TrackedIssue* closest = Closest(same->second, issue.onset)) return closest;
  }
  if (issue.order.cause_class != CauseClass::kJobWide) return nullptr;
  const TrackedIssue* best = nullptr;
  for (const auto& [alert, issues] : by_alert_) {
    if ((*issues.begin())->order.cause_class != CauseClass::kJobWide ||
        !causes_->ShareACause(issue.alert, alert))
      continue;
    const TrackedIssue* closest = Closest(issues, issue.onset);
    if (closest == nullptr || (best != nullptr && !Precedes(*closest, *best))) continue;
    // If the known cause of the candidate does not explain this issue, the two have no common
    // cause.
    const TrackedIssue* cause = causes_->StrongestCause(*closest, /*open=*/true);
    if (cause == nullptr || causes_->MayExplain(*cause, issue)) best = closest;
  }
  return best;
}

const TrackedIssue* OpenIssues::OwnSymptom(const TrackedIssue& issue) const {
  const auto own = [&](const TrackedIssue& symptom) {
    const Ordered& equal = by_alert_.find(symptom.alert)->second;
    return std::none_of(equal.begin(), equal.end(), [&](const TrackedIssue* other) {
      return other->incident == symptom.incident && other->root_cause.empty() &&
             other->onset < issue.onset - kOnsetError && !causes_->MayExplain(issue, *other) &&
             causes_->StrongestCause(*other, /*open=*/true) == nullptr;
    });
  };
  return causes_->FirstSymptom(issue, own);
}

}  // namespace pitwall::engine
