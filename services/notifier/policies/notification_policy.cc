#include "services/notifier/policies/notification_policy.h"

#include <utility>

namespace pitwall::notifier {

std::string NotificationPolicy::IncidentOf(const IssueEvent& event) const {
  return event.incident.empty() ? IssueId(event) : event.incident;
}

void NotificationPolicy::SendFirstAndEnd(const Acted& acted, std::vector<FeedItem>* send) {
  if (acted.events.empty()) return;
  const auto send_event = [&](const IssueEventPtr& event) {
    send->push_back({.partition = acted.partition, .offset = acted.offset, .event = event});
  };
  send_event(acted.events.front());
  if (acted.events.size() > 1 && acted.events.back()->type == EventType::kIssueResolved)
    send_event(acted.events.back());
}

void EveryEvent::Feed(FeedItem item, std::vector<FeedItem>* send) {
  send->push_back(std::move(item));
}

void EveryEvent::Settle(int32_t /*partition*/, std::vector<FeedItem>* /*send*/) {}

int64_t EveryEvent::UndecidedFrom(int32_t /*partition*/) const { return kNever; }

void EveryEvent::OnActed(const Acted& acted, std::vector<FeedItem>* send) {
  if (!acted.wanted) SendFirstAndEnd(acted, send);
}

}  // namespace pitwall::notifier
