#include "services/history/store/job_event_fold.h"
#include "services/model/issues/job_end.h"

#include <algorithm>
#include <array>

namespace pitwall::history {
namespace {

// Returns the weight of a severity. A higher weight means a worse severity; unknown severities have
// the lowest weight.
size_t Weight(std::string_view severity) {
  constexpr std::array<std::string_view, 4> kNames = {"info", "warning", "error", "critical"};
  const auto at = std::find(kNames.begin(), kNames.end(), severity);
  return at == kNames.end() ? 0 : static_cast<size_t>(at - kNames.begin()) + 1;
}

}  // namespace

AttemptLife* JobEventFold::AttemptOf(uint64_t attempt) {
  auto at =
      std::lower_bound(life_.attempts.begin(), life_.attempts.end(), attempt,
                       [](const AttemptLife& a, uint64_t number) { return a.attempt < number; });
  if (at == life_.attempts.end() || at->attempt != attempt) {
    at = life_.attempts.insert(at, AttemptLife());
    at->attempt = attempt;
  }
  return &*at;
}

void JobEventFold::OnJobChanged(const IssueEvent& event) {
  switch (event.job_change) {
    case JobChange::kNone:
      break;
    case JobChange::kStarted:
      if (life_.started_ns == 0) life_.started_ns = event.time.ns();
      life_.ended_ns = 0;
      life_.end_detail = EndDetail::kNone;
      life_.end_text.clear();
      break;
    case JobChange::kAttemptBegan:
      AttemptOf(event.attempt)->began_ns = event.time.ns();
      life_.ended_ns = 0;
      life_.end_detail = EndDetail::kNone;
      life_.end_text.clear();
      break;
    case JobChange::kRankLost:
      AttemptOf(event.attempt)
          ->lost.emplace_back(event.time.ns(), event.lost_rank.value_or(LostRank()));
      break;
    case JobChange::kAttemptEnded: {
      AttemptLife* attempt = AttemptOf(event.attempt);
      attempt->ended_ns = event.time.ns();
      attempt->end_detail = event.end_detail;
      attempt->end_text = JobEndText(event.end_detail, event.summary);
      break;
    }
    case JobChange::kEnded:
      life_.ended_ns = event.time.ns();
      life_.end_detail = event.end_detail;
      life_.end_text = JobEndText(event.end_detail, event.summary);
      break;
  }
}

void JobEventFold::OnOpen(const IssueEvent& event) {
  OpenIssue& issue = open_[IssueId(event)];
  issue.severity = event.severity;
  if (issue.stalled_since_ns == 0) issue.stalled_since_ns = StallOnset(event);
}

void JobEventFold::OnEvent(const IssueEvent& event) {
  if (!event.job_name.empty()) life_.name = event.job_name;
  if (!event.owner.empty()) life_.owner = event.owner;
  if (event.reference != JobReference()) life_.reference = event.reference;
  if (life_.first_ns == 0 || event.time.ns() < life_.first_ns) life_.first_ns = event.time.ns();
  life_.last_ns = std::max(life_.last_ns, event.time.ns());
  switch (event.type) {
    case EventType::kIssueFound:
      ++life_.found[event.rule];
      OnOpen(event);
      break;
    case EventType::kIssueUpdated:
      OnOpen(event);
      break;
    case EventType::kIssueResolved:
      open_.erase(IssueId(event));
      break;
    case EventType::kRuleStatus:
      break;
    case EventType::kJobChanged:
      OnJobChanged(event);
      break;
  }
}

void JobEventFold::Fill(JobOverview* life) const {
  life->started_ns = life_.started_ns;
  life->ended_ns = life_.ended_ns;
  life->end_detail = life_.end_detail;
  life->end_text = life_.end_text;
  life->attempts = life_.attempts;
  life->found = life_.found;
  life->open = {.count = open_.size()};
  for (const auto& [id, issue] : open_) {
    if (life->open.worst_severity.empty() ||
        Weight(issue.severity) > Weight(life->open.worst_severity))
      life->open.worst_severity = issue.severity;
    if (life->open.stalled_since_ns == 0 ||
        (issue.stalled_since_ns != 0 && issue.stalled_since_ns < life->open.stalled_since_ns))
      life->open.stalled_since_ns = issue.stalled_since_ns;
  }
  if (!life_.name.empty()) life->name = life_.name;
  if (!life_.owner.empty()) life->owner = life_.owner;
  if (life_.reference != JobReference()) life->reference = life_.reference;
  if (life_.last_ns == 0) return;
  life->first_ns = life->first_ns == 0 ? life_.first_ns : std::min(life->first_ns, life_.first_ns);
  life->last_ns = std::max(life->last_ns, life_.last_ns);
}

}  // namespace pitwall::history
