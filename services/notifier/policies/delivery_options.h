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

// What a receiver is told: a few notices of each incident (incident_policy.h), or every event of
// each issue.
// What a receiver of states (Alertmanager) is told: every event of each issue, and reminders.
enum class NotifyMode { kEvents, kIncidents, kStates };

struct DeliveryOptions {
  std::string name;  // [a-zA-Z0-9_-]{1,64}, unique: names the stored position
  // Empty: found, updated and resolved, but no rule status and no change of a job.
  std::vector<EventType> types;
  std::vector<std::string> severities;  // empty: all; changes of a job have none, and pass
  NotifyMode notify = NotifyMode::kEvents;
  // kEvents: also issues whose root cause is open (inhibition.h); always so where `types` leave out
  // what is found.
  bool notify_symptoms = false;
  ActionsTold actions = ActionsTold::kLive;
  bool from_start =
      false;  // without a stored position: from the oldest record instead of from now on
  // Undelivered events held in memory; reading from the log goes on when there is room.
  size_t max_pending = 256;
  // Retries: full jitter between 0 and min(max_backoff, first_backoff * 2^n).
  int64_t first_backoff_ns = 1 * kNanosPerSecond;
  int64_t max_backoff_ns = 5 * 60 * kNanosPerSecond;
  // After so long since its first attempt (by this process) an event goes to pitwall.dlq.
  int64_t give_up_after_ns = int64_t{24} * 3600 * kNanosPerSecond;
  // Circuit breaker: after so many failures in a row only one event is tried per breaker pause.
  int breaker_failures = 5;
  int64_t breaker_pause_ns = 30 * kNanosPerSecond;
  // A receiver that is gone (HTTP 410) stays off, restarts included, until its identity or this
  // number changes.
  uint64_t generation = 0;
  uint64_t jitter_seed = 0;  // 0: from name and start

  std::shared_ptr<const Routes> routes;  // null: none
  std::string routed_as;                 // its name in routes; "": `name`
  // kStates (resend_policy.h).
  int64_t resend_ns = 60 * kNanosPerSecond;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;

  bool Hears(const IssueEvent& event) const;  // by route and severity
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
  std::string last_error;  // of the newest failed attempt; "" after a success
};

// InvalidArgument, naming the receiver and what is wrong with its options.
Status CheckReceiver(const ReceiverOptions& options);

}  // namespace pitwall::notifier
