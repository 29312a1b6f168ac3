#include "services/notifier/delivery/notice_selection.h"

#include <algorithm>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/time.h"
#include "services/notifier/policies/incident_policy.h"
#include "services/notifier/policies/inhibition.h"
#include "services/notifier/policies/resend_policy.h"
#include "services/notifier/policies/silenced_events.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxExempted = 4096;

// Returns true if the receiver's filters accept the event.
bool Accepts(const DeliveryOptions& options, const IssueEvent& event) {
  const auto& types = options.types;
  const bool type =
      types.empty() ? event.type != EventType::kRuleStatus && event.type != EventType::kJobChanged
                    : std::find(types.begin(), types.end(), event.type) != types.end();
  return type && options.Selects(event);
}

}  // namespace

std::unique_ptr<NotificationPolicy> MakePolicy(const DeliveryOptions& options,
                                               const SilenceSet* silences, size_t max_issues) {
  // Inhibition applies only to receivers that get found events. Otherwise, symptoms would be
  // suppressed in favor of root causes that are never sent.
  const auto& types = options.types;
  const bool receives_found =
      types.empty() || std::find(types.begin(), types.end(), EventType::kIssueFound) != types.end();
  if (options.notify == NotifyMode::kIncidents)
    return std::make_unique<IncidentPolicy>(options, silences, max_issues);
  std::unique_ptr<NotificationPolicy> policy;
  if (!options.notify_symptoms && receives_found) {
    policy = std::make_unique<Inhibition>(
        [options](const IssueEvent& event) { return options.Selects(event); }, max_issues);
  } else {
    policy = std::make_unique<EveryEvent>();
  }
  policy = std::make_unique<SilencedEvents>(std::move(policy), silences, max_issues);
  if (options.notify != NotifyMode::kStates) return policy;
  return std::make_unique<ResendPolicy>(std::move(policy),
                                        ResendPolicyOptions{.resend_ns = options.resend_ns,
                                                            .hold_ended_ns = options.hold_ended_ns,
                                                            .max_issues = max_issues});
}

NoticeSelection::NoticeSelection(const DeliveryOptions& options,
                                 std::unique_ptr<NotificationPolicy> policy, StartPosition start,
                                 const IssueActions* acted, const IssueIndex* index,
                                 DeliveryQueue* queue, ReceiverReport* report)
    : options_(options),
      policy_(std::move(policy)),
      acted_(acted),
      index_(index),
      queue_(queue),
      report_(report),
      start_(std::move(start)),
      replaying_(start_.positions.size(), 1) {}

void NoticeSelection::Rebase(size_t partition, int64_t offset) {
  EndReplay(partition);
  start_.positions[partition] = offset;
}

void NoticeSelection::Take(std::vector<FeedItem> items, int64_t now_ns) {
  if (!policy_->keeps_state()) return Enqueue(std::move(items), now_ns);
  std::vector<FeedItem> send;
  for (FeedItem& item : items) {
    const auto p = static_cast<size_t>(item.partition);
    const bool sent_before = item.offset < start_.positions[p];
    if (!sent_before) EndReplay(p);
    const uint64_t suppressed = policy_->suppressed();
    policy_->Feed(std::move(item), &send);
    if (sent_before) {
      send.clear();
    } else {
      report_->RecordSuppressed(policy_->suppressed() - suppressed);
      Enqueue(std::exchange(send, {}), now_ns);
    }
  }
  report_->SetWithheld(policy_->withheld());
}

void NoticeSelection::Settle(const Positions& read, int64_t now_ns) {
  std::vector<FeedItem> send;
  for (size_t p = 0; policy_->keeps_state() && p < start_.positions.size(); ++p) {
    // If only part of the topic is available, the cursor may have caught up without reaching the
    // events that were sent before startup.
    if (read[p] < start_.positions[p]) continue;
    EndReplay(p);
    const uint64_t suppressed = policy_->suppressed();
    policy_->Settle(static_cast<int32_t>(p), &send);
    report_->RecordSuppressed(policy_->suppressed() - suppressed);
  }
  Enqueue(std::move(send), now_ns);
  report_->SetWithheld(policy_->withheld());
}

int64_t NoticeSelection::SendDue(int64_t now_ns, int64_t wall_ns) {
  int64_t next = NotificationPolicy::kNever;
  for (size_t p = 0; p < start_.positions.size(); ++p) {
    const auto partition = static_cast<int32_t>(p);
    if (replaying_[p] != 0) continue;
    std::vector<FeedItem> send;
    // If the queue is full, due notices wait for the next iteration.
    if (policy_->DueNs(partition) <= wall_ns && queue_->room() > 0)
      policy_->SendDue(partition, wall_ns, &send);
    Enqueue(std::move(send), now_ns);
    next = std::min(next, policy_->DueNs(partition));
  }
  report_->SetPending(queue_->size());
  return next <= wall_ns ? NotificationPolicy::kNever : next;
}

// The stored position never passes an undecided event. All events that the replay decides on have
// therefore been sent.
void NoticeSelection::EndReplay(size_t partition) {
  if (replaying_[partition] == 0) return;
  replaying_[partition] = 0;
  if (!policy_->keeps_state()) return;
  std::vector<FeedItem> sent;
  policy_->Settle(static_cast<int32_t>(partition), &sent);
  if (start_.is_new[partition] != 0) policy_->BeginReceiver(static_cast<int32_t>(partition));
}

bool NoticeSelection::SendAction(const IssueActions::Act& act, const Positions& read,
                                 int64_t now_ns) {
  const ActionEvent& action = *act.action;
  const int32_t p = PartitionOf(action.job, static_cast<int32_t>(start_.positions.size()));
  const auto at = static_cast<size_t>(p);
  // The events that were sent before startup are not known yet.
  if (policy_->keeps_state() && replaying_[at] != 0) return false;
  if (queue_->room() < 3) return false;
  const int64_t offset = std::max(read[at] - 1, start_.positions[at]);
  NotificationPolicy::Acted acted{.issue = action.issue,
                                  .partition = p,
                                  .offset = offset,
                                  .events = index_->Events(action.issue)};
  acted.wanted = !acted.events.empty() && Accepts(options_, *acted.events.front());
  std::vector<FeedItem> send;
  if (act.first) policy_->OnActed(acted, &send);
  if (auto item = ItemOf(action, std::move(acted.events), p, offset))
    send.push_back(*std::move(item));
  Enqueue(std::move(send), now_ns);
  return true;
}

Positions NoticeSelection::Decided(Positions read) const {
  for (size_t p = 0; policy_->keeps_state() && p < read.size(); ++p) {
    const int64_t decided = policy_->UndecidedFrom(static_cast<int32_t>(p));
    read[p] = std::max(std::min(read[p], decided), start_.positions[p]);
  }
  return read;
}

void NoticeSelection::Enqueue(std::vector<FeedItem> items, int64_t now_ns) {
  for (FeedItem& item : items) {
    if (item.notice == nullptr && item.states == nullptr && item.action == nullptr &&
        !Passes(*item.event))
      continue;
    item.offset = std::max(item.offset, start_.positions[static_cast<size_t>(item.partition)]);
    queue_->Add(std::move(item), now_ns);
  }
}

bool NoticeSelection::Passes(const IssueEvent& event) {
  if (Accepts(options_, event)) return true;
  if (event.type == EventType::kRuleStatus || event.type == EventType::kJobChanged) return false;
  if (!acted_->Has(IssueId(event)) || !exempted_.insert(event.id).second) return false;
  exempted_order_.push_back(event.id);
  if (exempted_order_.size() > kMaxExempted) {
    exempted_.erase(exempted_order_.front());
    exempted_order_.pop_front();
  }
  return true;
}

std::optional<FeedItem> NoticeSelection::ItemOf(const ActionEvent& action,
                                                std::vector<IssueEventPtr> events,
                                                int32_t partition, int64_t offset) const {
  if (!IsSelected(action, options_.actions)) return std::nullopt;
  const bool states = options_.notify == NotifyMode::kStates;
  // A state-based receiver gets only issues and derives everything else from them.
  if (states && (events.empty() || !IsLiveAct(action))) return std::nullopt;
  if (events.empty()) events.push_back(std::make_shared<const IssueEvent>(EventOfAction(action)));
  const IssueEvent& event = *events.back();
  if (!IsLiveAct(action) && !options_.Selects(event)) return std::nullopt;
  auto notice = std::make_shared<ActionNotice>();
  notice->action = action;
  notice->incident = IsRequest(action) ? action.issue : policy_->IncidentOf(event);
  notice->subject = options_.notify == NotifyMode::kIncidents ? notice->incident : action.issue;
  return FeedItem{.partition = partition,
                  .offset = offset,
                  .event = events.back(),
                  .bytes = 0,
                  .append_time = AppendTime(),
                  .notice = nullptr,
                  .action = std::move(notice),
                  .states = nullptr};
}

}  // namespace pitwall::notifier
