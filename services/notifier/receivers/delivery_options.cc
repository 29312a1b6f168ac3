#include "services/notifier/receivers/delivery_options.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::notifier {

int64_t RetryOptions::BackoffLimitNs(int attempts) const {
  int64_t limit = first_backoff_ns;
  for (int i = 1; i < attempts && limit < max_backoff_ns; ++i) limit *= 2;
  return std::clamp<int64_t>(limit, 1, std::max<int64_t>(1, max_backoff_ns));
}

bool RetryOptions::HasValidDurations() const {
  return first_backoff_ns > 0 && max_backoff_ns >= first_backoff_ns && give_up_after_ns > 0 &&
         breaker_pause_ns > 0;
}

bool DeliveryOptions::Selects(const IssueEvent& event) const {
  if (routes != nullptr && !routes->Leads(event, routed_as.empty() ? name : routed_as))
    return false;
  return severities.empty() || event.type == EventType::kJobChanged ||
         std::find(severities.begin(), severities.end(), event.severity) != severities.end();
}

Status CheckReceiver(const ReceiverOptions& options) {
  const DeliveryOptions& o = options.delivery;
  const bool named = !o.name.empty() && o.name.size() <= 64 &&
                     std::all_of(o.name.begin(), o.name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '-';
                     });
  if (!named) {
    return InvalidArgument(
        Cat("receiver name ", Quote(o.name),
            ": must consist of 1 to 64 characters from a-z, A-Z, 0-9, _, and -"));
  }
  if (options.receiver == nullptr)
    return InvalidArgument(Cat("receiver ", o.name, ": kind must be set"));
  const auto bad = [&](std::string_view what) {
    return InvalidArgument(Cat(options.receiver->kind(), " ", o.name, ": ", what));
  };
  if (o.max_pending == 0 || o.max_pending > 100'000)
    return bad("max_pending must be between 1 and 100000");
  if (!o.retry.HasValidDurations() || o.resend_ns <= 0 || o.hold_ended_ns <= 0) {
    return bad("durations must be positive, and max_backoff must not be less than first_backoff");
  }
  if (o.retry.breaker_failures < 1) return bad("breaker_failures must be at least 1");
  return OkStatus();
}

}  // namespace pitwall::notifier
