// Interface for one kind of receiver. Renders calls and classifies replies. The delivery loop
// handles positions, order, retries, and dead letters for all kinds
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

// Input for one call. The pointers are borrowed for the duration of Render.
struct Delivery {
  const IssueEvent* event = nullptr;     // for a notice, the newest event of its root cause
  const Notice* notice = nullptr;        // if null, send the event itself
  const ActionNotice* action = nullptr;  // if not null, send this executor action on the issue
  // Newest events of the issues in a reminder; empty for all other deliveries.
  const std::vector<EventPtr>* states = nullptr;
  // Returns the text of the executor's last action on an issue, or "". The function may be empty.
  std::function<std::string(std::string_view issue)> acted;
  int64_t wall_ns = 0;  // current Unix time in nanoseconds
};

using Call = std::variant<HttpCall, MailCall>;

// Reply to a call, or the reason why there was no reply.
struct Answer {
  int code = 0;                      // HTTP status or SMTP reply code; 0 without a reply
  std::string retry_after;           // value of the HTTP header; may be ""
  std::string location = {};         // target of a redirect; may be ""
  std::string text;                  // start of the body, or the reason why there was no reply
  std::vector<std::string> refused;  // recipients that a mail server rejected, with the reasons
};

struct Verdict {
  enum class Kind {
    kTaken,
    kFailed,     // the receiver or the network failed: retry
    kThrottled,  // retry later; does not count as a failure
    kRejected,   // the message is invalid: allow a few more attempts
    kDenied,     // wrong user or password: retry rarely until the configuration changes
    kGone,       // no further attempts
  };
  Kind kind = Kind::kFailed;
  std::string error;  // readable text without secrets; for kTaken a warning, usually ""
};

// Implementations are immutable and thread-safe.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual std::string_view kind() const = 0;  // "webhook", "slack", …
  // Returns the receiver's address in human-readable form, without secrets.
  virtual std::string target() const = 0;
  // Returns the receiver's identity. It changes if the name is assigned to another receiver. A
  // receiver that is gone stays disabled until its identity changes.
  virtual std::string identity() const = 0;
  // Returns InvalidArgument if the delivery cannot be rendered. The delivery then goes to the
  // dead-letter topic.
  virtual StatusOr<Call> Render(const Delivery& delivery) const = 0;
  virtual Verdict Classify(const Answer& answer) const = 0;
};

// Returns a POST request without further headers.
HttpCall PostOf(std::string url, int64_t timeout_ns, std::string content_type, std::string body);

// Classifies a status by the convention that most HTTP receivers follow: 2xx is accepted, 410 is
// gone, 429 is throttled, and statuses for invalid requests, such as 400, are rejected. All other
// statuses are failures. Redirects are not followed, because the address is part of the
// configuration. The error contains the new address.
Verdict ClassifyHttp(const Answer& answer);

}  // namespace pitwall::notifier
