// Receiver of one kind: the form of a call, and the meaning of a reply. The delivery loop does the
// rest for all of them: position, order, retries, dead letters
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

// What is sent with one call. Borrowed for the call of Render.
struct Delivery {
  const IssueEvent* event = nullptr;     // of a notice the newest one of its root cause
  const Notice* notice = nullptr;        // null: the event itself is sent
  const ActionNotice* action = nullptr;  // an act on the event's issue is sent
  // Newest events of issues that a receiver of states is reminded of; empty: no reminder.
  const std::vector<EventPtr>* states = nullptr;
  // What the executor last said of an issue, "": nothing; empty: not known.
  std::function<std::string(std::string_view issue)> acted;
  int64_t wall_ns = 0;  // now, Unix time
};

using Call = std::variant<HttpCall, MailCall>;

// An answer, or none.
struct Answer {
  int code = 0;                      // HTTP status or SMTP reply code; 0: there was no answer
  std::string retry_after;           // as HTTP's header has it; "": none
  std::string location = {};         // of a redirect; "": none
  std::string text;                  // the body's beginning, or why there was no answer
  std::vector<std::string> refused;  // of a mail that was taken: who does not get it, and why
};

struct Verdict {
  enum class Kind {
    kTaken,
    kFailed,     // the receiver's fault, or the way's: later
    kThrottled,  // later, and nothing is broken
    kRejected,   // the message's fault: a few times more
    kDenied,     // user or password are wrong: seldom, until somebody changes them
    kGone,       // never again
  };
  Kind kind = Kind::kFailed;
  std::string error;  // for people, without secrets; of what is taken: what is not right, mostly ""
};

// Immutable, thread-safe.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual std::string_view kind() const = 0;  // "webhook", "slack", …
  // Whom it tells, for people: without what is secret in it.
  virtual std::string target() const = 0;
  // What changes when the receiver is another one behind the same name: a receiver that is gone
  // stays off until this changes.
  virtual std::string identity() const = 0;
  // InvalidArgument: this cannot be sent in any way, and goes to the dead letters.
  virtual StatusOr<Call> Render(const Delivery& delivery) const = 0;
  virtual Verdict Classify(const Answer& answer) const = 0;
};

// Meaning of a status for most HTTP receivers: 2xx taken, 410 gone, 429 throttled, a status that
// blames the request itself rejected, every other one failed. Redirects are not followed, since the
// address is part of the configuration: the error names the new one.
Verdict ClassifyHttp(const Answer& answer);

}  // namespace pitwall::notifier
