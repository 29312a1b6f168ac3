// Options and state of the delivery to one receiver of any kind.
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

// Notices for a receiver: a few per incident (incident_policy.h), every event of each issue, or,
// for a receiver of states (Alertmanager), every event of each issue and reminders.
enum class NotifyMode { kEvents, kIncidents, kStates };

struct DeliveryOptions {
  std::string name;  // [a-zA-Z0-9_-]{1,64}, unique: part of the group of the stored position
  // Empty: found, updated, and resolved, but not rule status or changes of a job.
  std::vector<EventType> types;
  std::vector<std::string> severities;  // empty: all; changes of a job have no severity and pass
  NotifyMode notify = NotifyMode::kEvents;
  // kEvents: also sends issues whose root cause is open (inhibition.h). Always the case if `types`
  // excludes found events.
  bool notify_symptoms = false;
  ActionFilter actions = ActionFilter::kLive;
  bool from_start = false;  // without a stored position: start at the oldest record instead of now
  // Undelivered events held in memory; reading pauses at the limit.
  size_t max_pending = 256;
  // Retries: full jitter between 0 and min(max_backoff, first_backoff * 2^n).
  int64_t first_backoff_ns = 1 * kNanosPerSecond;
  int64_t max_backoff_ns = 5 * 60 * kNanosPerSecond;
  // An event moves to pitwall.dlq this long after its first attempt by this process.
  int64_t give_up_after_ns = int64_t{24} * 3600 * kNanosPerSecond;
  // Circuit breaker: after this number of consecutive failures, only one event is tried per breaker
  // pause.
  int breaker_failures = 5;
  int64_t breaker_pause_ns = 30 * kNanosPerSecond;
  // A receiver that is gone (HTTP 410) stays disabled across restarts until its identity or this
  // number changes.
  uint64_t generation = 0;
  uint64_t jitter_seed = 0;  // 0: derived from name and start time

  std::shared_ptr<const Routes> routes;  // null: none
  std::string routed_as;                 // name in routes; "": `name`
  // kStates (resend_policy.h).
  int64_t resend_ns = 60 * kNanosPerSecond;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;

  bool Selects(const IssueEvent& event) const;  // by route and severity
};

struct ReceiverOptions {
  DeliveryOptions delivery;
  std::shared_ptr<const Receiver> receiver;
};

struct ReceiverStatus {
  std::string name;
  std::string_view kind;
  std::string target;
  bool disabled = false;  // the receiver is gone
  bool breaker_open = false;
  uint64_t delivered = 0;
  uint64_t attempts_failed = 0;
  uint64_t given_up = 0;
  size_t pending = 0;
  std::string last_error;  // of the last failed attempt; "" after a success
};

// Returns InvalidArgument with the receiver and its invalid option.
Status CheckReceiver(const ReceiverOptions& options);

}  // namespace pitwall::notifier
