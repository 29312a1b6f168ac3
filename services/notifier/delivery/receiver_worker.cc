#include "services/notifier/delivery/receiver_worker.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::notifier {
namespace {

uint64_t Seed(const DeliveryOptions& options, const Clock& clock) {
  if (options.jitter_seed != 0) return options.jitter_seed;
  // Each notifier uses a different seed, so that notifiers do not retry in lockstep.
  return StableHash64(Cat(options.name, " ", clock.WallNs(), " ", clock.MonotonicNs()));
}

// Webhooks keep their group name from when they were the only kind of receiver.
std::string GroupOf(const ReceiverOptions& options) {
  return Cat(options.receiver->kind() == "webhook" ? "pitwall-webhook-" : "pitwall-receiver-",
             options.delivery.name);
}

// Returns the position metadata for a receiver that is gone.
std::string DisabledMark(const ReceiverOptions& options) {
  return Cat("disabled ",
             StableHashHex(Cat(options.receiver->identity(), "\xff", options.delivery.generation)));
}

}  // namespace

void ReceiverSources::Listen(Wakeup* wakeup) const {
  window->Listen(wakeup);
  acted->Listen(wakeup);
  silences->Listen(wakeup);
}

void ReceiverSources::Unlisten(Wakeup* wakeup) const {
  window->Unlisten(wakeup);
  acted->Unlisten(wakeup);
  silences->Unlisten(wakeup);
}

ReceiverWorker::ReceiverWorker(Clock* clock, Log* log, const ReceiverSources& sources,
                               Transports transports, std::string topic, int64_t history_records,
                               size_t max_issues, ReceiverOptions options,
                               self_metrics::Exposition* exposition)
    : clock_(clock),
      log_(log),
      sources_(sources),
      history_records_(history_records),
      max_issues_(max_issues),
      options_(std::move(options)),
      worker_(clock, "receiver"),
      report_(options_.delivery.name, options_.receiver, exposition),
      position_(clock, log, std::move(topic), GroupOf(options_), DisabledMark(options_), &report_),
      actions_(clock, log, sources.acted, GroupOf(options_), &report_),
      caller_(clock, transports, sources.acted, options_, worker_.stop_flag(), &report_) {}

Status ReceiverWorker::Open(const Positions& begin) {
  const DeliveryOptions& options = options_.delivery;
  ASSIGN_OR_RETURN(StartPosition start, position_.Open(begin));
  const Positions positions = start.positions;
  queue_ = std::make_unique<DeliveryQueue>(options, positions, Seed(options, *clock_));
  selection_ = std::make_unique<NoticeSelection>(
      options, MakePolicy(options, &sources_.silences->set(), max_issues_), std::move(start),
      sources_.acted, sources_.index, queue_.get(), &report_);
  ASSIGN_OR_RETURN(Positions from, StartOfHistory(positions));
  reader_ = std::make_unique<NoticeReader>(
      clock_, TopicCursor(log_, sources_.window, position_.topic(), std::move(from)), queue_.get(),
      selection_.get(), &position_, &actions_, worker_.stop_flag(), &report_);
  outcomes_ = std::make_unique<DeliveryOutcomes>(
      clock_, log_, std::string(options_.receiver->kind()), options.name, queue_.get(),
      selection_.get(), &position_, &report_);
  RETURN_IF_ERROR(actions_.Open(options.from_start));
  // Issues with executor actions before the stored position remain exempt from inhibition.
  for (const IssueActions::Act& act : sources_.acted->Since({})) {
    if (act.first && actions_.IsPast(act)) selection_->RememberActed(act.action->issue);
  }
  return OkStatus();
}

StatusOr<Positions> ReceiverWorker::StartOfHistory(const Positions& begin) {
  Positions from = begin;
  if (!selection_->keeps_state()) return from;
  for (size_t p = 0; p < from.size(); ++p) {
    ASSIGN_OR_RETURN(const auto reader,
                     log_->OpenReader({position_.topic(), static_cast<int32_t>(p)}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
    from[p] = std::max(from[p] - history_records_, std::min(from[p], start));
  }
  return from;
}

void ReceiverWorker::Start() {
  sources_.Listen(worker_.wakeup());
  worker_.Start([this] { Loop(); });
}

void ReceiverWorker::Stop() {
  if (!worker_.started()) return;
  worker_.Stop();
  sources_.Unlisten(worker_.wakeup());
}

void ReceiverWorker::Loop() {
  if (report_.disabled()) {
    PITWALL_LOG(kWarning, "notifier", report_.title(),
                " remains disabled because it replied 410 Gone; change its URL or generation to "
                "enable it");
  }
  while (!worker_.stopping()) {
    if (report_.disabled()) {
      const bool stored = position_.StoreDisabledMark(queue_->Delivered());
      worker_.Wait(stored ? -1 : StoredPosition::kStoreIntervalNs);
    } else {
      RunOnce();
    }
  }
  if (!report_.disabled()) position_.StoreIfChanged(queue_->Delivered());
  outcomes_->recorder().FlushIfDue(INT64_MAX);
}

void ReceiverWorker::RunOnce() {
  reader_->Fill();
  const int64_t now = clock_->MonotonicNs();
  const int64_t due = reader_->caught_up() ? selection_->SendDue(now, clock_->WallNs())
                                           : NotificationPolicy::kNever;
  DeliveryQueue::Entry* const entry = queue_->Due(now);
  if (entry != nullptr) {
    const auto result = caller_.Send(entry->item, selection_->StatesOf(entry->item));
    if (result.has_value()) outcomes_->Apply(entry, *result);
  }
  position_.StoreIfDue(queue_->Delivered(), now, entry == nullptr);
  if (queue_->size() == 0) actions_.StoreIfDue(now);
  outcomes_->recorder().FlushIfDue(now);
  if (entry != nullptr || now >= reader_->NextReadNs()) return;
  const int64_t until = NextWorkNs(now, due);
  worker_.Wait(until == INT64_MAX ? -1 : std::max<int64_t>(0, until - now));
}

int64_t ReceiverWorker::NextWorkNs(int64_t now_ns, int64_t due_ns) const {
  int64_t until = queue_->NextAttemptNs().value_or(INT64_MAX);
  until = std::min(until, reader_->NextReadNs());
  until = std::min(until, position_.NextStoreNs(queue_->Delivered()));
  if (queue_->size() == 0) until = std::min(until, actions_.NextStoreNs());
  until = std::min(until, outcomes_->recorder().NextFlushNs());
  if (due_ns == NotificationPolicy::kNever) return until;
  return std::min(until, now_ns + std::max<int64_t>(0, due_ns - clock_->WallNs()));
}

}  // namespace pitwall::notifier
