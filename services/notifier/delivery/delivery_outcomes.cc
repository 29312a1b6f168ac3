#include "services/notifier/delivery/delivery_outcomes.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::notifier {

DeliveryOutcomes::DeliveryOutcomes(Clock* clock, Log* log, const std::string& kind,
                                   const std::string& name, DeliveryQueue* queue,
                                   NoticeSelection* selection, StoredPosition* position,
                                   ReceiverReport* report)
    : kind_(kind),
      queue_(queue),
      selection_(selection),
      position_(position),
      report_(report),
      dead_letters_(log, position->topic(), kind, name, report),
      recorder_(clock, log, kind, name, report) {}

void DeliveryOutcomes::Apply(DeliveryQueue::Entry* entry, const ReceiverCaller::Result& result) {
  const Verdict& verdict = result.verdict;
  const bool was_open = queue_->breaker_open();
  const bool reminder = entry->item.states != nullptr;
  const FeedItem item = entry->item;
  const DeliveryQueue::Outcome outcome =
      queue_->OnResult(entry, verdict.kind, result.retry_after_ns, result.ended_ns);
  if (reminder) selection_->EndReminder();
  if (outcome == DeliveryQueue::Outcome::kDelivered) {
    report_->RecordDelivered();
    position_->RequestStore();
    recorder_.Record(item, "");
    report_->RecordError(verdict.error);
    LogOnce(verdict.error, "");
  } else {
    report_->RecordFailed();
    report_->RecordError(verdict.error);
    if (verdict.kind == Verdict::Kind::kDenied)
      LogOnce(verdict.error, "; retrying every 15 minutes and after a restart");
  }
  if (outcome == DeliveryQueue::Outcome::kDisabled) {
    PITWALL_LOG(kWarning, "notifier", report_->title(), ": ", verdict.error, "; receiver disabled");
    position_->Disable();
  }
  if (reminder && outcome != DeliveryQueue::Outcome::kDelivered &&
      outcome != DeliveryQueue::Outcome::kDisabled) {
    queue_->Drop(entry);  // the next reminder replaces this reminder
  } else if (outcome == DeliveryQueue::Outcome::kGiveUp) {
    GiveUp(entry, item, verdict, result.ended_ns);
  }
  if (queue_->breaker_open() && !was_open && verdict.kind != Verdict::Kind::kDenied) {
    PITWALL_LOG(kWarning, "notifier", report_->title(), " keeps failing: ", verdict.error);
  }
  report_->SetBreakerOpen(queue_->breaker_open());
  report_->SetPending(queue_->size());
}

void DeliveryOutcomes::GiveUp(DeliveryQueue::Entry* entry, const FeedItem& item,
                              const Verdict& verdict, int64_t now_ns) {
  const bool rejected = verdict.kind == Verdict::Kind::kRejected;
  const std::string reason =
      Cat(kind_, rejected ? " rejected the event: " : " not delivered in time: ", verdict.error);
  if (!dead_letters_.Write(item, reason)) {
    queue_->Postpone(entry, now_ns);
    return;
  }
  report_->RecordGivenUp();
  recorder_.Record(item, verdict.error.empty() ? "not accepted" : std::string_view(verdict.error));
  position_->RequestStore();
  queue_->Drop(entry);
}

void DeliveryOutcomes::LogOnce(std::string_view error, std::string_view consequence) {
  if (error == logged_error_) return;
  logged_error_ = error;
  if (!error.empty()) PITWALL_LOG(kError, "notifier", report_->title(), ": ", error, consequence);
}

}  // namespace pitwall::notifier
