// Receiver of one kind: renders a call and classifies the reply. The delivery loop implements the
// rest for all kinds: position, order, retries, dead letters
// (services/notifier/delivery/receiver_worker.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"
#include "services/io/mail_transport.h"
#include "services/notifier/receivers/action_notice.h"
#include "services/notifier/receivers/notice.h"

namespace pitwall::notifier {

// Input of one call. Borrowed for the duration of Render.
struct Delivery {
  const IssueEvent* event = nullptr;     // for a notice, the newest event of its root cause
  const Notice* notice = nullptr;        // null: send the event itself
  const ActionNotice* action = nullptr;  // not null: send this act on the event's issue
  // Newest events of the issues in a reminder; empty: not a reminder.
  const std::vector<EventPtr>* states = nullptr;
  // Returns the text of the executor's last act on an issue, or ""; may be empty.
  std::function<std::string(std::string_view issue)> acted;
  int64_t wall_ns = 0;  // current Unix time
};

using Call = std::variant<HttpCall, MailCall>;

// Reply to a call, or the reason for its absence.
struct Answer {
  int code = 0;                      // HTTP status or SMTP reply code; 0: no reply
  std::string retry_after;           // as in the HTTP header; may be ""
  std::string location = {};         // of a redirect; may be ""
  std::string text;                  // beginning of the body, or the reason for no reply
  std::vector<std::string> refused;  // recipients that a mail server rejected, with the reason
};

struct Verdict {
  enum class Kind {
    kTaken,
    kFailed,     // failure of the receiver or the network: retry
    kThrottled,  // retry later; not a failure
    kRejected,   // the message is invalid: a few more attempts
    kDenied,     // wrong user or password: retry rarely until the configuration changes
    kGone,       // no further attempts
  };
  Kind kind = Kind::kFailed;
  std::string error;  // for people, without secrets; for kTaken: a warning, usually ""
};

// Immutable, thread-safe.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual std::string_view kind() const = 0;  // "webhook", "slack", …
  // Returns the receiver's address for people, without secrets.
  virtual std::string target() const = 0;
  // Returns a string that changes if another receiver gets the same name. A receiver that is gone
  // stays disabled until this changes.
  virtual std::string identity() const = 0;
  // InvalidArgument: the delivery cannot be rendered and goes to the dead-letter topic.
  virtual StatusOr<Call> Render(const Delivery& delivery) const = 0;
  virtual Verdict Classify(const Answer& answer) const = 0;
};

// Classifies a status as most HTTP receivers define it: 2xx accepted, 410 gone, 429 throttled,
// statuses that blame the request rejected, all others failed. Redirects are not followed, since
// the address is part of the configuration: the error contains the new one.
Verdict ClassifyHttp(const Answer& answer);

}  // namespace pitwall::notifier
