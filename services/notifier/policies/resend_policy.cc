#include "services/notifier/policies/resend_policy.h"

#include <algorithm>

namespace pitwall::notifier {

ResendPolicy::ResendPolicy(std::unique_ptr<NotificationPolicy> inner, ResendPolicyOptions options)
    : PolicyDecorator(std::move(inner)), options_(options) {}

ResendPolicy::Due& ResendPolicy::DueOf(int32_t partition) {
  const auto p = static_cast<size_t>(partition);
  if (p >= due_.size()) due_.resize(p + 1);
  return due_[p];
}

void ResendPolicy::OnActed(const Acted& acted, std::vector<FeedItem>* send) {
  std::vector<FeedItem> out;
  inner_->OnActed(acted, &out);
  Pass(std::move(out), send);
}

void ResendPolicy::Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) {
  for (FeedItem& item : items) {
    // State-based receivers get only issues.
    if (item.event->type == EventType::kRuleStatus || item.event->type == EventType::kJobChanged)
      continue;
    Put(item);
    send->push_back(std::move(item));
  }
}

void ResendPolicy::Put(const FeedItem& item) {
  const std::string id = IssueId(*item.event);
  const auto at = issues_.find(id);
  // An older event, such as the first event of a suppressed issue, may arrive after a newer one.
  if (at != issues_.end() && at->second.event->sequence > item.event->sequence) return;
  if (at != issues_.end()) Forget(id);
  // Event time is close to wall time, except when a restart replays events.
  const int64_t due_ns = item.event->time.ns() + options_.resend_ns;
  issues_[id] = {item.partition, item.event, due_ns};
  DueOf(item.partition).emplace(due_ns, id);
  while (issues_.size() > std::max<size_t>(1, options_.max_issues)) {
    // The issue with the earliest due time has gone the longest without an event.
    std::string oldest;
    int64_t oldest_ns = INT64_MAX;
    for (const Due& due : due_) {
      if (due.empty() || due.begin()->first >= oldest_ns) continue;
      oldest_ns = due.begin()->first;
      oldest = due.begin()->second;
    }
    Forget(oldest);
  }
}

void ResendPolicy::Forget(const std::string& id) {
  const auto at = issues_.find(id);
  if (at == issues_.end()) return;
  DueOf(at->second.partition).erase({at->second.due_ns, id});
  issues_.erase(at);
}

void ResendPolicy::BeginReceiver(int32_t partition) {
  std::vector<std::string> ended;
  for (const auto& [id, issue] : issues_) {
    if (issue.partition == partition && !IsOpen(*issue.event)) ended.push_back(id);
  }
  for (const std::string& id : ended) Forget(id);
}

bool ResendPolicy::Over(const IssueEvent& event, int64_t wall_ns) const {
  if (IsOpen(event)) return false;
  const int64_t hold = event.end_reason == EndReason::kCleared ? 0 : options_.hold_ended_ns;
  return event.ended_at.ns() + hold + options_.repeat_ends_ns < wall_ns;
}

int64_t ResendPolicy::DueNs(int32_t partition) const {
  int64_t due_ns = inner_->DueNs(partition);
  const auto p = static_cast<size_t>(partition);
  if (!reminding_ && p < due_.size() && !due_[p].empty())
    due_ns = std::min(due_ns, due_[p].begin()->first);
  return due_ns;
}

void ResendPolicy::SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) {
  PassDue(partition, wall_ns, send);
  if (reminding_) return;
  auto states = std::make_shared<std::vector<IssueEventPtr>>();
  FeedItem item;
  item.partition = partition;
  Due& due = DueOf(partition);
  while (!due.empty() && due.begin()->first <= wall_ns && states->size() < options_.batch) {
    const std::string id = due.begin()->second;
    Issue& issue = issues_.find(id)->second;
    if (Over(*issue.event, wall_ns)) {
      Forget(id);
      continue;
    }
    due.erase(due.begin());
    issue.due_ns = wall_ns + options_.resend_ns;
    due.emplace(issue.due_ns, id);
    states->push_back(issue.event);
  }
  if (states->empty()) return;
  item.event = states->front();
  item.offset = NewestOf(partition);
  item.states = std::move(states);
  reminding_ = true;
  send->push_back(std::move(item));
}

std::vector<IssueEventPtr> ResendPolicy::StatesOf(const FeedItem& item) const {
  std::vector<IssueEventPtr> out;
  const auto add = [&](const IssueEventPtr& event) {
    const auto at = issues_.find(IssueId(*event));
    out.push_back(at == issues_.end() ? event : at->second.event);
  };
  if (item.states == nullptr) {
    add(item.event);
  } else {
    for (const IssueEventPtr& event : *item.states) add(event);
  }
  return out;
}

}  // namespace pitwall::notifier
