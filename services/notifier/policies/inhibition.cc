#include "services/notifier/policies/inhibition.h"

#include <algorithm>
#include <set>

namespace pitwall::notifier {
namespace {

constexpr size_t kRemembered = 4096;

void Remember(const std::string& id, std::set<std::string, std::less<>>* ids,
              std::deque<std::string>* order) {
  if (!ids->insert(id).second) return;
  order->push_back(id);
  if (order->size() <= kRemembered) return;
  ids->erase(order->front());
  order->pop_front();
}

}  // namespace

Inhibition::Inhibition(std::function<bool(const IssueEvent&)> selects, size_t max_issues)
    : selects_(std::move(selects)), max_issues_(std::max<size_t>(1, max_issues)) {}

void Inhibition::Feed(FeedItem item, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(item.partition);
  if (p >= ticks_.size()) ticks_.resize(p + 1);
  Tick& tick = ticks_[p];
  const IssueEventPtr event = item.event;
  if (tick.job != event->job || tick.time_ns != event->time.ns()) {
    Decide(&tick, send);
    tick.job = event->job;
    tick.time_ns = event->time.ns();
  }
  tick.newest_offset = item.offset;
  switch (event->type) {
    case EventType::kRuleStatus:
    case EventType::kJobChanged:
      send->push_back(std::move(item));
      return;
    case EventType::kIssueResolved:
      return OnResolved(IssueId(*event), std::move(item), &tick, send);
    case EventType::kIssueFound:
    case EventType::kIssueUpdated:
      return OnOpen(IssueId(*event), std::move(item), &tick, send);
  }
}

void Inhibition::OnOpen(const std::string& id, FeedItem item, Tick* tick,
                        std::vector<FeedItem>* send) {
  const IssueEventPtr event = item.event;
  auto [at, fresh] = issues_.try_emplace(id);
  if (fresh) {
    // Events that precede the first known event may already have been sent. A superfluous end event
    // is better than an alert that stays open forever.
    at->second.notified = event->sequence > 1;
    if (issues_.size() > max_issues_ && !by_age_.empty()) {
      const std::string oldest = by_age_.begin()->second;
      Release(&issues_.find(oldest)->second, item.offset, send);
      Forget(oldest);
      at = issues_.find(id);
    }
  } else {
    by_age_.erase({at->second.time_ns, id});
  }
  Issue& issue = at->second;
  issue.time_ns = event->time.ns();
  by_age_.emplace(issue.time_ns, id);
  issue.selected = selects_(*event);
  SetRootCause(id, &issue, event->root_cause);
  if (!event->root_cause.empty()) {
    Withhold(&issue, std::move(item));
    tick->doubtful.push_back(id);
    tick->undecided_from = std::min(tick->undecided_from, tick->newest_offset);
    return;
  }
  issue.last.reset();  // the new event replaces the last suppressed one
  Release(&issue, item.offset, send);
  issue.notified = true;
  send->push_back(std::move(item));
}

void Inhibition::OnResolved(const std::string& id, FeedItem item, Tick* tick,
                            std::vector<FeedItem>* send) {
  bool notified = true;
  if (const auto at = issues_.find(id); at != issues_.end()) {
    if (always_.contains(id)) Release(&at->second, item.offset, send);
    notified = at->second.notified;
    if (!notified) {
      suppressed_ += at->second.undecided + 1;
      Remember(id, &silent_, &silent_order_);
    }
    Forget(id);
  }
  if (notified) send->push_back(std::move(item));
  const auto symptoms = symptoms_.find(id);
  if (symptoms == symptoms_.end()) return;
  tick->doubtful.insert(tick->doubtful.end(), symptoms->second.begin(), symptoms->second.end());
  tick->undecided_from = std::min(tick->undecided_from, tick->newest_offset);
}

bool Inhibition::Exempt(const std::string& id, int64_t offset, std::vector<FeedItem>* send) {
  Remember(id, &always_, &always_order_);
  if (const auto at = issues_.find(id); at != issues_.end()) Release(&at->second, offset, send);
  return silent_.erase(id) > 0;
}

void Inhibition::Settle(int32_t partition, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(partition);
  if (p < ticks_.size()) Decide(&ticks_[p], send);
}

int64_t Inhibition::UndecidedFrom(int32_t partition) const {
  const auto p = static_cast<size_t>(partition);
  return p < ticks_.size() ? ticks_[p].undecided_from : INT64_MAX;
}

void Inhibition::Decide(Tick* tick, std::vector<FeedItem>* send) {
  for (const std::string& id : tick->doubtful) {
    const auto at = issues_.find(id);
    if (at == issues_.end()) continue;
    Issue& issue = at->second;
    if (IsInhibited(id, issue)) {
      suppressed_ += std::exchange(issue.undecided, 0);
    } else {
      Release(&issue, tick->newest_offset, send);
    }
  }
  tick->doubtful.clear();
  tick->undecided_from = INT64_MAX;
}

bool Inhibition::IsInhibited(const std::string& id, const Issue& issue) const {
  // After a reload that reversed relations, issues may briefly be each other's root causes. A
  // suppressed issue must not suppress other issues; otherwise, none of them would be sent.
  constexpr int kMaxChain = 16;
  if (always_.contains(id)) return false;
  const Issue* at = &issue;
  for (int i = 0; i < kMaxChain && at->root_cause != id; ++i) {
    const auto cause = issues_.find(at->root_cause);
    if (cause == issues_.end() || !cause->second.selected) return i > 0;
    at = &cause->second;
  }
  return false;
}

void Inhibition::Withhold(Issue* issue, FeedItem item) {
  ++issue->undecided;
  if (issue->notified || issue->first.has_value()) {
    issue->last = std::move(item);
  } else {
    issue->first = std::move(item);
    ++withheld_;
  }
}

void Inhibition::Release(Issue* issue, int64_t offset, std::vector<FeedItem>* send) {
  if (issue->first.has_value()) --withheld_;
  for (std::optional<FeedItem>* item : {&issue->first, &issue->last}) {
    if (!item->has_value()) continue;
    (*item)->offset = offset;
    send->push_back(*std::move(*item));
    item->reset();
    issue->notified = true;
  }
  issue->undecided = 0;
}

void Inhibition::SetRootCause(const std::string& id, Issue* issue, const std::string& root_cause) {
  if (issue->root_cause == root_cause) return;
  if (const auto at = symptoms_.find(issue->root_cause); at != symptoms_.end()) {
    at->second.erase(id);
    if (at->second.empty()) symptoms_.erase(at);
  }
  issue->root_cause = root_cause;
  if (!root_cause.empty()) symptoms_[root_cause].insert(id);
}

void Inhibition::Forget(const std::string& id) {
  const auto at = issues_.find(id);
  if (at->second.first.has_value()) --withheld_;
  SetRootCause(id, &at->second, "");
  by_age_.erase({at->second.time_ns, id});
  issues_.erase(at);
}

void Inhibition::OnActed(const Acted& acted, std::vector<FeedItem>* send) {
  const size_t before = send->size();
  const bool silent = Exempt(acted.issue, acted.offset, send);
  if (send->size() == before && (silent || !acted.wanted)) SendFirstAndEnd(acted, send);
}

void Inhibition::RememberActed(const std::string& issue) {
  std::vector<FeedItem> nothing;
  Exempt(issue, 0, &nothing);
}

}  // namespace pitwall::notifier
