// Options and status for deliveries to one receiver of any kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/model/issues/issue.h"
#include "services/notifier/receivers/action_notice.h"
#include "services/notifier/receivers/receiver.h"
#include "services/notifier/routing/routes.h"

namespace pitwall::notifier {

// Notices that a receiver gets. kIncidents: a few notices per incident (incident_policy.h).
// kEvents: every event of each issue. kStates: every event of each issue plus reminders, for
// state-based receivers (Alertmanager).
enum class NotifyMode { kEvents, kIncidents, kStates };

// Retry options for failed deliveries.
struct RetryOptions {
  // Backoff for retries with full jitter: a random time between 0 and min(max_backoff,
  // first_backoff * 2^n).
  int64_t first_backoff_ns = 1 * kNanosPerSecond;
  int64_t max_backoff_ns = 5 * 60 * kNanosPerSecond;
  // Time from this process's first attempt until an undelivered event moves to pitwall.dlq.
  int64_t give_up_after_ns = int64_t{24} * 3600 * kNanosPerSecond;
  // Circuit breaker: after this many consecutive failures, the receiver gets only one attempt per
  // breaker pause.
  int breaker_failures = 5;
  int64_t breaker_pause_ns = 30 * kNanosPerSecond;

  // Returns the upper limit of the backoff after this many attempts.
  int64_t BackoffLimitNs(int attempts) const;
  // Returns true if all durations are positive, and max_backoff is at least first_backoff.
  bool HasValidDurations() const;
};

struct DeliveryOptions {
  std::string name;  // [a-zA-Z0-9_-]{1,64}, unique; part of the group name for the position
  // If empty, the receiver gets found, updated, and resolved events, but no rule statuses or job
  // changes.
  std::vector<EventType> types;
  std::vector<std::string>
      severities;  // if empty, all; job changes always pass because they have no severity
  NotifyMode notify = NotifyMode::kEvents;
  // For kEvents: if true, issues with an open root cause are also sent (inhibition.h). Always true
  // if `types` excludes found events.
  bool notify_symptoms = false;
  ActionFilter actions = ActionFilter::kLive;
  bool from_start = false;  // if no position is stored, start at the oldest record instead of now
  // Maximum number of undelivered events in memory. Reading pauses at this limit.
  size_t max_pending = 256;
  RetryOptions retry;
  // Generation number. A receiver that is gone (HTTP 410) stays disabled across restarts until its
  // identity or this number changes.
  uint64_t generation = 0;
  uint64_t jitter_seed = 0;  // 0: derive the seed from the name and the start time

  std::shared_ptr<const Routes> routes;  // null if no routes are configured
  std::string routed_as;                 // name of the receiver in the routes; "" means `name`
  // Options for kStates (resend_policy.h).
  int64_t resend_ns = 60 * kNanosPerSecond;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;

  bool Selects(const IssueEvent& event) const;  // checks the route and severity
};

struct ReceiverOptions {
  DeliveryOptions delivery;
  std::shared_ptr<const Receiver> receiver;
};

struct ReceiverStatus {
  std::string name;
  std::string_view kind;
  std::string target;
  bool disabled = false;  // true if the receiver has replied that it is gone
  bool breaker_open = false;
  uint64_t delivered = 0;
  uint64_t attempts_failed = 0;
  uint64_t given_up = 0;
  size_t pending = 0;
  std::string last_error;  // error of the last failed attempt; "" after a success
};

// Returns InvalidArgument with the receiver's name and the invalid option.
Status CheckReceiver(const ReceiverOptions& options);

}  // namespace pitwall::notifier
