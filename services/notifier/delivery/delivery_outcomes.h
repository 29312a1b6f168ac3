// Handler for the outcomes of calls to one receiver. Keeps, drops, or gives up on each notice, and
// records the outcome.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/io/io.h"
#include "services/notifier/delivery/dead_letter_writer.h"
#include "services/notifier/delivery/delivery_queue.h"
#include "services/notifier/delivery/notice_selection.h"
#include "services/notifier/delivery/notification_recorder.h"
#include "services/notifier/delivery/receiver_caller.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/delivery/stored_position.h"

namespace pitwall::notifier {

// All pointers are borrowed. Used by a single thread.
class DeliveryOutcomes {
 public:
  // `kind` and `name` identify the receiver.
  DeliveryOutcomes(Clock* clock, Log* log, const std::string& kind, const std::string& name,
                   DeliveryQueue* queue, NoticeSelection* selection, StoredPosition* position,
                   ReceiverReport* report);

  // Applies the result of a call to its entry in the queue.
  void Apply(DeliveryQueue::Entry* entry, const ReceiverCaller::Result& result);
  // Returns the notification recorder.
  NotificationRecorder& recorder() { return recorder_; }

 private:
  // Moves the entry to the dead-letter topic, or postpones it if the log does not accept it.
  void GiveUp(DeliveryQueue::Entry* entry, const FeedItem& item, const Verdict& verdict,
              int64_t now_ns);
  // Logs an error that an operator must resolve, unless it equals the last logged error.
  void LogOnce(std::string_view error, std::string_view consequence);

  const std::string kind_;
  DeliveryQueue* const queue_;
  NoticeSelection* const selection_;
  StoredPosition* const position_;
  ReceiverReport* const report_;
  DeadLetterWriter dead_letters_;
  NotificationRecorder recorder_;
  std::string logged_error_;  // last error that LogOnce logged
};

}  // namespace pitwall::notifier
