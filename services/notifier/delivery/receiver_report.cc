#include "services/notifier/delivery/receiver_report.h"

#include <utility>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::notifier {

ReceiverReport::ReceiverReport(std::string name, std::shared_ptr<const Receiver> receiver,
                               self_metrics::Exposition* exposition)
    : name_(std::move(name)),
      receiver_(std::move(receiver)),
      title_(Cat(receiver_->kind(), " ", name_)),
      seconds_(self_metrics::kLatencyBounds),
      probe_(exposition) {
  AddMetrics("pitwall_receiver_", {{"kind", receiver_->kind()}, {"receiver", name_}});
  // These metric names date from when webhooks were the only kind of receiver.
  if (receiver_->kind() == "webhook") AddMetrics("pitwall_webhook_", {{"webhook", name_}});
}

void ReceiverReport::RecordError(std::string_view error) {
  MutexLock lock(&mutex_);
  last_error_ = error;
}

void ReceiverReport::RecordReset(const std::string& text, int64_t now_ns) {
  PITWALL_LOG(kError, "notifier", title_, ": ", text);
  resets_.Add();
  MutexLock lock(&mutex_);
  notice_.Set(Cat(title_, ": ", text), MonotonicTime::FromNs(now_ns));
}

void ReceiverReport::RecordGap(std::string_view text) {
  lost_.Add();
  PITWALL_LOG(kError, "notifier", title_, ": ", text);
}

void ReceiverReport::RecordStoreFailure(const Status& failure) {
  store_failures_.Add();
  RecordError(Cat("failed to store the position: ", ToStd(failure.message())));
}

void ReceiverReport::RecordAttempt(int64_t duration_ns) {
  seconds_.Observe(static_cast<double>(duration_ns) / kNanosPerSecond);
}

Status ReceiverReport::Health(int64_t now_ns) const {
  MutexLock lock(&mutex_);
  return notice_.Read(MonotonicTime::FromNs(now_ns));
}

ReceiverStatus ReceiverReport::status() const {
  ReceiverStatus out;
  out.name = name_;
  out.kind = receiver_->kind();
  out.target = receiver_->target();
  out.disabled = disabled_;
  out.breaker_open = breaker_open_;
  out.delivered = delivered_.value();
  out.attempts_failed = failed_.value();
  out.given_up = given_up_.value();
  out.pending = pending_;
  MutexLock lock(&mutex_);
  out.last_error = last_error_;
  return out;
}

void ReceiverReport::AddMetrics(const std::string& prefix, const Labels& labels) {
  const auto counter = [&](std::string_view name, std::string_view help, auto* value) {
    probe_.Add(Cat(prefix, name), help, value, labels);
  };
  counter("deliveries_total", "Events that a receiver accepted.", &delivered_);
  counter("failed_attempts_total", "Failed attempts, which are retried.", &failed_);
  counter("given_up_total", "Events moved to the dead-letter topic.", &given_up_);
  counter("gaps_total", "Number of times events were deleted from the topic before they were sent.",
          &lost_);
  counter("log_resets_total",
          "Number of times the topic's log was replaced and delivery resumed at its first new "
          "record.",
          &resets_);
  counter("store_failures_total", "Failed attempts to store a position.", &store_failures_);
  counter("request_duration_seconds", "Duration of a delivery attempt.", &seconds_);
  counter("suppressed_total",
          "Events withheld because the issue's root cause is open. The first and the newest are "
          "sent if the cause ends first.",
          &suppressed_);
  counter("notifications_unrecorded_total",
          "Notification records dropped because the log did not accept them.",
          &notifications_unrecorded_);
  const auto gauge = [&](std::string_view name, std::string_view help, const auto* value) {
    probe_.AddGauge(
        Cat(prefix, name), help, [value] { return value->load(); }, labels);
  };
  gauge("pending", "Events read and not yet delivered.", &pending_);
  gauge("withheld_issues", "Open issues withheld from the receiver.", &withheld_);
  gauge("disabled", "1 after the receiver replied that it is gone.", &disabled_);
  gauge("breaker_open", "1 while the circuit breaker is open.", &breaker_open_);
}

}  // namespace pitwall::notifier
