// Caller for one receiver. Renders each notice, sends it, and classifies the reply.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/io/http_transport.h"
#include "services/io/mail_transport.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/issue_actions.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/receivers/delivery_options.h"

namespace pitwall::notifier {

// Borrowed transports for calls. A transport is null if no receiver uses it.
struct Transports {
  HttpTransport* http = nullptr;
  MailTransport* mail = nullptr;
};

// All pointers are borrowed. Used by a single thread.
class ReceiverCaller {
 public:
  struct Result {
    Verdict verdict;
    int64_t retry_after_ns = 0;  // 0 if the reply has no Retry-After
    int64_t ended_ns = 0;        // monotonic time at the end of the call
  };

  // Setting `cancel` cancels a call in progress.
  ReceiverCaller(Clock* clock, Transports transports, const IssueActions* acted,
                 const ReceiverOptions& options, const std::atomic<bool>* cancel,
                 ReceiverReport* report);

  // Sends the item. For a reminder, `states` contains the newest events of its issues. Returns
  // nullopt if the call was canceled.
  std::optional<Result> Send(const FeedItem& item, const std::vector<IssueEventPtr>& states);

 private:
  Clock* const clock_;
  const Transports transports_;
  const IssueActions* const acted_;
  const std::shared_ptr<const Receiver> receiver_;
  const bool sends_actions_;
  const std::atomic<bool>* const cancel_;
  ReceiverReport* const report_;
};

}  // namespace pitwall::notifier
