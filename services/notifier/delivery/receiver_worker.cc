#include "services/notifier/delivery/receiver_worker.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/io/retry_after.h"
#include "services/io/topics.h"
#include "services/notifier/policies/incident_policy.h"
#include "services/notifier/policies/inhibition.h"
#include "services/notifier/policies/resend_policy.h"
#include "services/notifier/policies/silenced_events.h"

namespace pitwall::notifier {
namespace {

constexpr int64_t kRetryReadNs = kNanosPerSecond;
constexpr size_t kMaxExempted = 4096;
constexpr size_t kMaxAnswerText = 512;
constexpr int kSmtpDenied = 535;

uint64_t Seed(const DeliveryOptions& options, const Clock& clock) {
  if (options.jitter_seed != 0) return options.jitter_seed;
  // Each notifier uses a different seed, so that notifiers do not retry in lockstep.
  return StableHash64(Cat(options.name, " ", clock.WallNs(), " ", clock.MonotonicNs()));
}

// Webhooks keep their group name from when they were the only kind of receiver.
std::string GroupOf(const Receiver& receiver, std::string_view name) {
  return Cat(receiver.kind() == "webhook" ? "pitwall-webhook-" : "pitwall-receiver-", name);
}

}  // namespace

ReceiverWorker::ReceiverWorker(Clock* clock, Log* log, RecentEvents* window, Transports transports,
                               SilenceTable* silences, IssueActions* acted, const IssueIndex* index,
                               std::string topic, int64_t history_records, size_t max_issues,
                               ReceiverOptions options)
    : clock_(clock),
      log_(log),
      window_(window),
      transports_(transports),
      acted_(acted),
      silences_(silences),
      index_(index),
      topic_(std::move(topic)),
      history_records_(history_records),
      options_(std::move(options.delivery)),
      receiver_(std::move(options.receiver)),
      title_(Cat(receiver_->kind(), " ", options_.name)),
      group_(GroupOf(*receiver_, options_.name)),
      wakeup_(clock->NewWakeup()),
      notification_writer_(log, &notifications_unrecorded_),
      seconds_(self_metrics::kLatencyBounds) {
  // A receiver that does not get found events would wait for root causes that are never sent to it.
  const auto& types = options_.types;
  const bool receives_found =
      types.empty() || std::find(types.begin(), types.end(), EventType::kIssueFound) != types.end();
  if (options_.notify == NotifyMode::kIncidents) {
    policy_ = std::make_unique<IncidentPolicy>(options_, &silences->set(), max_issues);
    return;
  }
  if (!options_.notify_symptoms && receives_found) {
    policy_ = std::make_unique<Inhibition>(
        [this](const IssueEvent& event) { return options_.Selects(event); }, max_issues);
  } else {
    policy_ = std::make_unique<EveryEvent>();
  }
  policy_ = std::make_unique<SilencedEvents>(std::move(policy_), &silences->set(), max_issues);
  if (options_.notify != NotifyMode::kStates) return;
  policy_ = std::make_unique<ResendPolicy>(
      std::move(policy_), ResendPolicyOptions{.resend_ns = options_.resend_ns,
                                              .hold_ended_ns = options_.hold_ended_ns,
                                              .max_issues = max_issues});
}

ReceiverWorker::~ReceiverWorker() { Stop(); }

std::string ReceiverWorker::DisabledMark() const {
  return Cat("disabled ", StableHashHex(Cat(receiver_->identity(), "\xff", options_.generation)));
}

Status ReceiverWorker::Open(const Positions& begin) {
  Positions positions = begin;
  marks_.resize(begin.size());
  new_.assign(begin.size(), 0);
  for (size_t p = 0; p < positions.size(); ++p) {
    const TopicPartition at{topic_, static_cast<int32_t>(p)};
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at));
    if (committed) {
      if (committed->metadata == DisabledMark()) disabled_ = mark_stored_ = true;
      ASSIGN_OR_RETURN(positions[p], OpenAt(static_cast<int32_t>(p), *committed));
    } else {
      new_[p] = 1;
      RETURN_IF_ERROR(log_->StorePosition(group_, at, {positions[p], ""}));
    }
  }
  stored_ = begin_ = positions;
  replaying_.assign(positions.size(), 1);
  Positions from = positions;
  for (size_t p = 0; policy_->keeps_state() && p < from.size(); ++p) {
    ASSIGN_OR_RETURN(const auto reader,
                     log_->OpenReader({topic_, static_cast<int32_t>(p)}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
    from[p] = std::max(from[p] - history_records_, std::min(from[p], start));
  }
  cursor_ = std::make_unique<TopicCursor>(log_, window_, topic_, std::move(from));
  queue_ = std::make_unique<DeliveryQueue>(options_, std::move(positions), Seed(options_, *clock_));
  return OpenActs();
}

Status ReceiverWorker::OpenActs() {
  acts_ = acted_->Next();
  for (size_t p = 0; p < acts_.size(); ++p) {
    const TopicPartition at{acted_->topic(), static_cast<int32_t>(p)};
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at));
    if (committed) {
      acts_[p] = committed->offset;
      if (p < acted_->Next().size() && acts_[p] > acted_->Next()[p]) {
        NoteReset(Cat("log_truncated: ", at.topic, "/", p, ": the log ends at offset ",
                      acted_->Next()[p], ", below the stored position ", acts_[p],
                      " (topic deleted, recreated, or truncated); treating its records as new"));
        acts_[p] = 0;
      }
    } else {
      if (options_.from_start) acts_[p] = 0;
      RETURN_IF_ERROR(log_->StorePosition(group_, at, {acts_[p], ""}));
    }
  }
  acts_stored_ = acts_;
  // Issues whose executor actions precede the stored position remain exempt.
  for (const IssueActions::Act& act : acted_->Since({})) {
    if (act.first && act.offset < acts_[static_cast<size_t>(act.partition)])
      policy_->RememberActed(act.action->issue);
  }
  return OkStatus();
}

void ReceiverWorker::Start() {
  window_->Listen(wakeup_.get());
  acted_->Listen(wakeup_.get());
  silences_->Listen(wakeup_.get());
  thread_ = std::thread([this] { Loop(); });
}

void ReceiverWorker::Stop() {
  if (!thread_.joinable()) return;
  stop_ = true;
  wakeup_->Wake();
  thread_.join();
  window_->Unlisten(wakeup_.get());
  acted_->Unlisten(wakeup_.get());
  silences_->Unlisten(wakeup_.get());
}

void ReceiverWorker::Loop() {
  if (disabled_) {
    PITWALL_LOG(kWarning, "notifier", title_,
                " stays disabled because it replied that it is gone; change its URL or generation "
                "to enable it");
  }
  while (!stop_) {
    if (disabled_) {
      if (!mark_stored_) StorePositions();
      wakeup_->Wait(mark_stored_ ? -1 : kStoreIntervalNs);
      continue;
    }
    Fill();
    const int64_t now = clock_->MonotonicNs();
    const int64_t due = caught_up_ ? SendDue(now) : NotificationPolicy::kNever;
    DeliveryQueue::Entry* const entry = queue_->Due(now);
    if (entry != nullptr) Attempt(entry);
    const bool store_due = now - stored_at_ns_ >= kStoreIntervalNs;
    if (queue_->Delivered() != stored_ && (store_due || (entry == nullptr && delivery_to_store_))) {
      StorePositions();
    }
    if (queue_->size() == 0 && acts_ != acts_stored_ && now >= acts_retry_ns_) StoreActs();
    FlushNotifications(now);
    if (entry != nullptr) continue;
    if (queue_->room() > 0 && !caught_up_ && now >= retry_read_ns_) continue;

    int64_t until = INT64_MAX;
    if (const std::optional<int64_t> next = queue_->NextAttemptNs()) until = *next;
    if (queue_->room() > 0 && !caught_up_) until = std::min(until, retry_read_ns_);
    if (queue_->Delivered() != stored_) until = std::min(until, stored_at_ns_ + kStoreIntervalNs);
    if (queue_->size() == 0 && acts_ != acts_stored_) until = std::min(until, acts_retry_ns_);
    if (notification_writer_.waiting() > 0) until = std::min(until, notification_retry_ns_);
    if (due != NotificationPolicy::kNever)
      until = std::min(until, now + std::max<int64_t>(0, due - clock_->WallNs()));
    wakeup_->Wait(until == INT64_MAX ? -1 : std::max<int64_t>(0, until - now));
  }
  if (!disabled_ && queue_->Delivered() != stored_) StorePositions();
  FlushNotifications(INT64_MAX);
}

bool ReceiverWorker::Wanted(const IssueEvent& event) const {
  const auto& types = options_.types;
  const bool type =
      types.empty() ? event.type != EventType::kRuleStatus && event.type != EventType::kJobChanged
                    : std::find(types.begin(), types.end(), event.type) != types.end();
  return type && options_.Selects(event);
}

void ReceiverWorker::Fill() {
  const int64_t now = clock_->MonotonicNs();
  if (now < retry_read_ns_) return;
  std::vector<FeedItem> items;
  while (!stop_ && queue_->room() > 0) {
    items = {};
    const Status read = cursor_->Next(queue_->room(), &items);
    Take(std::move(items), now);
    if (cursor_->caught_up()) Settle(now);
    SendActs(now);
    Positions positions = cursor_->positions();
    for (size_t p = 0; policy_->keeps_state() && p < positions.size(); ++p) {
      const int64_t decided = policy_->UndecidedFrom(static_cast<int32_t>(p));
      positions[p] = std::max(std::min(positions[p], decided), begin_[p]);
    }
    queue_->SetRead(positions);
    pending_ = queue_->size();
    if (read.code() == absl::StatusCode::kDataLoss) {
      lost_.Add();
      PITWALL_LOG(kError, "notifier", title_, ": ", ToStd(read.message()));
      continue;
    }
    if (absl::IsFailedPrecondition(read)) {
      if (const Status followed = FollowReplaced(cursor_->reset()); !followed.ok()) {
        Note(ToStd(followed.message()));
        retry_read_ns_ = now + kRetryReadNs;
        caught_up_ = false;
        return;
      }
      continue;
    }
    if (!read.ok()) {
      Note(ToStd(read.message()));
      retry_read_ns_ = now + kRetryReadNs;
      caught_up_ = false;
      return;
    }
    caught_up_ = cursor_->caught_up();
    // Deliver due events before reading more of the history.
    if (caught_up_ || queue_->Due(now) != nullptr) return;
  }
}

void ReceiverWorker::Enqueue(std::vector<FeedItem> items, int64_t now_ns) {
  for (FeedItem& item : items) {
    if (item.notice == nullptr && item.states == nullptr && item.action == nullptr &&
        !Passes(*item.event))
      continue;
    item.offset = std::max(item.offset, begin_[static_cast<size_t>(item.partition)]);
    queue_->Add(std::move(item), now_ns);
  }
}

void ReceiverWorker::Attempt(DeliveryQueue::Entry* entry) {
  Delivery delivery;
  delivery.event = entry->item.event.get();
  delivery.notice = entry->item.notice.get();
  delivery.action = entry->item.action.get();
  delivery.acted = [this](std::string_view issue) {
    return options_.actions == ActionFilter::kNone ? "" : acted_->Text(issue);
  };
  delivery.wall_ns = clock_->WallNs();
  const std::vector<IssueEventPtr> states = policy_->StatesOf(entry->item);
  if (!states.empty()) delivery.states = &states;
  StatusOr<Call> call = receiver_->Render(delivery);
  if (!call.ok()) {
    const std::string error(ToStd(call.status().message()));
    OnVerdict(entry, {Verdict::Kind::kRejected, error}, 0, clock_->MonotonicNs());
    return;
  }
  const int64_t began = clock_->MonotonicNs();
  const std::optional<Answer> answer = Perform(*std::move(call));
  const int64_t now = clock_->MonotonicNs();
  if (!answer.has_value()) return;
  seconds_.Observe(static_cast<double>(now - began) / kNanosPerSecond);
  OnVerdict(entry, receiver_->Classify(*answer),
            ParseRetryAfter(answer->retry_after, clock_->WallNs()), now);
}

std::optional<Answer> ReceiverWorker::Perform(Call call) {
  Answer answer;
  const auto fail = [&](const Status& status) -> std::optional<Answer> {
    if (stop_) return std::nullopt;  // Stop canceled the call, so the receiver did not fail
    answer.text = std::string(ToStd(status.message()));
    return answer;
  };
  if (auto* const http = std::get_if<HttpCall>(&call)) {
    http->cancel = &stop_;
    http->status_suffices = true;
    const StatusOr<HttpReply> reply = transports_.http->Perform(*http);
    if (!reply.ok()) return fail(reply.status());
    answer.code = reply->status;
    answer.retry_after = std::string(reply->Header("retry-after"));
    answer.text = reply->body.substr(0, kMaxAnswerText);
    answer.location = std::string(reply->Header("location"));
    return answer;
  }
  MailCall& mail = std::get<MailCall>(call);
  mail.cancel = &stop_;
  const StatusOr<MailReply> reply = transports_.mail->Send(mail);
  if (!reply.ok()) {
    if (absl::IsUnauthenticated(reply.status())) answer.code = kSmtpDenied;
    return fail(reply.status());
  }
  answer.code = reply->code;
  answer.text = reply->text.substr(0, kMaxAnswerText);
  answer.refused = reply->refused;
  return answer;
}

void ReceiverWorker::OnVerdict(DeliveryQueue::Entry* entry, const Verdict& verdict,
                               int64_t retry_after_ns, int64_t now_ns) {
  const bool was_open = queue_->breaker_open();
  const bool reminder = entry->item.states != nullptr;
  const FeedItem item = entry->item;
  const DeliveryQueue::Outcome outcome =
      queue_->OnResult(entry, verdict.kind, retry_after_ns, now_ns);
  if (reminder) policy_->ReminderDone();
  if (outcome == DeliveryQueue::Outcome::kDelivered) {
    delivered_.Add();
    delivery_to_store_ = true;
    NoteOutcome(item, "");
    Note(verdict.error);
    LogOnce(verdict.error, "");
  } else {
    failed_.Add();
    Note(verdict.error);
    if (verdict.kind == Verdict::Kind::kDenied)
      LogOnce(verdict.error, "; retrying every 15 minutes and after a restart");
  }
  if (outcome == DeliveryQueue::Outcome::kDisabled) {
    PITWALL_LOG(kWarning, "notifier", title_, ": ", verdict.error, "; receiver disabled");
    disabled_ = true;
    mark_stored_ = false;
  }
  if (reminder && outcome != DeliveryQueue::Outcome::kDelivered &&
      outcome != DeliveryQueue::Outcome::kDisabled) {
    queue_->Drop(entry);  // the next reminder replaces this reminder
  } else if (outcome == DeliveryQueue::Outcome::kGiveUp) {
    const bool rejected = verdict.kind == Verdict::Kind::kRejected;
    if (DeadLetter(*entry, Cat(receiver_->kind(),
                               rejected ? " rejected the event: " : " not delivered in time: ",
                               verdict.error))) {
      given_up_.Add();
      NoteOutcome(item, verdict.error.empty() ? "not accepted" : std::string_view(verdict.error));
      delivery_to_store_ = true;
      queue_->Drop(entry);
    } else {
      queue_->Postpone(entry, now_ns);
    }
  }
  if (queue_->breaker_open() && !was_open && verdict.kind != Verdict::Kind::kDenied) {
    PITWALL_LOG(kWarning, "notifier", title_, " keeps failing: ", verdict.error);
  }
  breaker_open_ = queue_->breaker_open();
  pending_ = queue_->size();
}

bool ReceiverWorker::DeadLetter(const DeliveryQueue::Entry& entry, std::string_view reason) {
  if (dead_letters_ == nullptr) {
    StatusOr<std::unique_ptr<Appender>> appender = log_->OpenAppender();
    if (!appender.ok()) {
      Note(ToStd(appender.status().message()));
      return false;
    }
    dead_letters_ = *std::move(appender);
  }
  const IssueEvent& event = *entry.item.event;
  OutgoingRecord record;
  record.topic = kDeadLetterTopic;
  record.key = event.job;
  record.value = entry.item.action != nullptr   ? EncodeAction(*entry.item.action)
                 : entry.item.notice != nullptr ? EncodeNotice(*entry.item.notice)
                                                : cloudevents::EncodeCloudEvent(event);
  record.headers = {{"reason", std::string(reason)},
                    {"topic", topic_},
                    {"partition", Cat(entry.item.partition)},
                    {"offset", Cat(entry.item.offset)},
                    {std::string(receiver_->kind()), options_.name}};
  Status appended = dead_letters_->Append({record});
  if (!appended.ok()) Note(ToStd(appended.message()));
  if (!absl::IsInvalidArgument(appended)) return appended.ok();
  // The record may be too large. Retry without its body, and drop the record if that also fails.
  record.headers.emplace_back("original_bytes", Cat(std::exchange(record.value, "").size()));
  appended = dead_letters_->Append({std::move(record)});
  if (!appended.ok()) Note(ToStd(appended.message()));
  return appended.ok() || absl::IsInvalidArgument(appended);
}

bool ReceiverWorker::Passes(const IssueEvent& event) {
  if (Wanted(event)) return true;
  if (event.type == EventType::kRuleStatus || event.type == EventType::kJobChanged) return false;
  if (!acted_->Has(IssueId(event)) || !exempted_.insert(event.id).second) return false;
  exempted_order_.push_back(event.id);
  if (exempted_order_.size() > kMaxExempted) {
    exempted_.erase(exempted_order_.front());
    exempted_order_.pop_front();
  }
  return true;
}

void ReceiverWorker::SendActs(int64_t now_ns) {
  const Positions acts_end = acted_->Next();
  if (acts_ == acts_end) return;
  // The issues that the actions refer to must be sent first.
  if (policy_->keeps_state() && !cursor_->caught_up()) return;
  for (size_t q = 0; q < std::min(acts_.size(), acts_end.size()); ++q) {
    // Restart the position if the reader's position has moved back because the log was replaced.
    if (acts_[q] > acts_end[q]) acts_[q] = 0;
  }
  for (const IssueActions::Act& act : acted_->Since(acts_)) {
    const ActionEvent& action = *act.action;
    const int32_t p = PartitionOf(action.job, static_cast<int32_t>(begin_.size()));
    const auto at = static_cast<size_t>(p);
    // The events that were sent before this start are not known yet.
    if (policy_->keeps_state() && replaying_[at] != 0) return;
    if (queue_->room() < 3) return;
    const int64_t offset = std::max(cursor_->positions()[at] - 1, begin_[at]);
    NotificationPolicy::Acted acted{.issue = action.issue,
                                    .partition = p,
                                    .offset = offset,
                                    .events = index_->Events(action.issue)};
    acted.wanted = !acted.events.empty() && Wanted(*acted.events.front());
    std::vector<FeedItem> send;
    if (act.first) policy_->OnActed(acted, &send);
    if (auto item = ItemOf(action, std::move(acted.events), p, offset))
      send.push_back(*std::move(item));
    Enqueue(std::move(send), now_ns);
    const auto q = static_cast<size_t>(act.partition);
    if (q >= acts_.size()) acts_.resize(q + 1, 0);
    acts_[q] = act.offset + 1;
  }
  acts_.resize(std::max(acts_.size(), acts_end.size()), 0);
  for (size_t q = 0; q < acts_end.size(); ++q) acts_[q] = std::max(acts_[q], acts_end[q]);
}

std::optional<FeedItem> ReceiverWorker::ItemOf(const ActionEvent& action,
                                               std::vector<IssueEventPtr> events, int32_t partition,
                                               int64_t offset) const {
  if (!IsSelected(action, options_.actions)) return std::nullopt;
  const bool states = options_.notify == NotifyMode::kStates;
  // A state-based receiver gets only issues. It derives all other values from these issues.
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
                  .append_time_ns = 0,
                  .notice = nullptr,
                  .action = std::move(notice),
                  .states = nullptr};
}

void ReceiverWorker::StorePositions() {
  const Positions now = queue_->Delivered();
  stored_at_ns_ = clock_->MonotonicNs();
  delivery_to_store_ = false;
  bool ok = true;
  for (size_t p = 0; p < now.size(); ++p) {
    if (now[p] == stored_[p] && !disabled_) continue;
    const Status stored = log_->StorePosition(
        group_, {topic_, static_cast<int32_t>(p)},
        {now[p], disabled_ ? DisabledMark() : EncodeLogMark(MarkBelow(p, now[p]))});
    if (stored.ok()) {
      stored_[p] = now[p];
      continue;
    }
    ok = false;
    store_failures_.Add();
    Note(Cat("failed to store the position: ", ToStd(stored.message())));
  }
  mark_stored_ = disabled_ && ok;
}

void ReceiverWorker::LogOnce(std::string_view error, std::string_view consequence) {
  if (error == logged_error_) return;
  logged_error_ = error;
  if (!error.empty()) PITWALL_LOG(kError, "notifier", title_, ": ", error, consequence);
}

void ReceiverWorker::Note(std::string_view error) {
  MutexLock lock(&mutex_);
  last_error_ = error;
}

}  // namespace pitwall::notifier
