#include "services/notifier/policies/silenced_events.h"

#include <algorithm>
#include <utility>

namespace pitwall::notifier {
namespace {

bool OfIssue(const IssueEvent& event) {
  return event.type == EventType::kIssueFound || event.type == EventType::kIssueUpdated ||
         event.type == EventType::kIssueResolved;
}

}  // namespace

SilencedEvents::SilencedEvents(std::unique_ptr<NotificationPolicy> inner,
                               const SilenceSet* silences, size_t max_issues)
    : PolicyDecorator(std::move(inner)),
      silences_(silences),
      max_issues_(std::max<size_t>(1, max_issues)),
      version_(silences->version()) {}

void SilencedEvents::Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) {
  for (FeedItem& item : items) PassOne(std::move(item), send);
}

void SilencedEvents::PassOne(FeedItem item, std::vector<FeedItem>* send) {
  const IssueEvent& event = *item.event;
  if (!OfIssue(event) || item.notice != nullptr) {
    send->push_back(std::move(item));
    return;
  }
  const std::string id = IssueId(event);
  const auto held = silenced_.find(id);
  if (!IsOpen(event)) {
    const bool unsent = held != silenced_.end() && held->second.first.has_value();
    if (held != silenced_.end()) silenced_.erase(held);
    sent_.erase(id);
    if (unsent) {
      ++held_;
    } else {
      send->push_back(std::move(item));
    }
    return;
  }
  const int64_t until = silences_->SilencedUntil(event, event.time.ns());
  if (until > event.time.ns()) {
    ++held_;
    Issue& issue = silenced_[id];
    issue.partition = item.partition;
    issue.until_ns = until;
    if (!issue.first.has_value() && !sent_.contains(id)) issue.first = item;
    issue.last = std::move(item);
    while (silenced_.size() > max_issues_) silenced_.erase(silenced_.begin());
    return;
  }
  if (held != silenced_.end()) {
    Issue issue = std::move(held->second);
    silenced_.erase(held);
    if (issue.first.has_value()) {
      issue.first->offset = item.offset;
      send->push_back(*std::move(issue.first));
    }
  }
  RememberSent(id);
  send->push_back(std::move(item));
}

void SilencedEvents::RememberSent(const std::string& id) {
  if (!sent_.insert(id).second) return;
  sent_order_.push_back(id);
  while (sent_order_.size() > max_issues_) {
    sent_.erase(sent_order_.front());
    sent_order_.pop_front();
  }
}

void SilencedEvents::Refresh() const {
  if (silences_->version() == version_) return;
  version_ = silences_->version();
  for (auto& [id, issue] : silenced_) {
    const IssueEvent& event = *issue.last.event;
    issue.until_ns = silences_->SilencedUntil(event, event.time.ns());
  }
}

int64_t SilencedEvents::DueNs(int32_t partition) const {
  Refresh();
  int64_t due = inner_->DueNs(partition);
  for (const auto& [id, issue] : silenced_) {
    if (issue.partition == partition) due = std::min(due, issue.until_ns);
  }
  return due;
}

void SilencedEvents::Release(Issue issue, int64_t offset, std::vector<FeedItem>* send) {
  const bool more = !issue.first.has_value() || issue.first->event->id != issue.last.event->id;
  if (issue.first.has_value()) {
    issue.first->offset = offset;
    send->push_back(*std::move(issue.first));
  }
  issue.last.offset = offset;
  if (more) send->push_back(std::move(issue.last));
}

void SilencedEvents::SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) {
  Refresh();
  PassDue(partition, wall_ns, send);
  const int64_t offset = NewestOf(partition);
  for (auto at = silenced_.begin(); at != silenced_.end();) {
    if (at->second.partition != partition || at->second.until_ns > wall_ns) {
      ++at;
      continue;
    }
    RememberSent(at->first);
    Release(std::move(at->second), offset, send);
    at = silenced_.erase(at);
  }
}

void SilencedEvents::OnActed(const Acted& acted, std::vector<FeedItem>* send) {
  std::vector<FeedItem> out;
  inner_->OnActed(acted, &out);
  for (FeedItem& item : out) {
    silenced_.erase(acted.issue);
    RememberSent(acted.issue);
    send->push_back(std::move(item));
  }
}

}  // namespace pitwall::notifier
