// Recorder for one receiver's notifications in the topic pitwall.notifications.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/io/io.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/notification_writer.h"

namespace pitwall::notifier {

// The pointers are borrowed. Used by a single thread.
class NotificationRecorder {
 public:
  // `kind` and `name` identify the receiver.
  NotificationRecorder(Clock* clock, Log* log, std::string kind, std::string name,
                       ReceiverReport* report);

  // Records whether the receiver accepted the item. `error` is "" if it did.
  void Record(const FeedItem& item, std::string_view error);
  // Appends the waiting records, unless the log rejected records less than a second ago.
  void FlushIfDue(int64_t now_ns);
  // Returns the monotonic time of the next append, or INT64_MAX if no records are waiting.
  int64_t NextFlushNs() const { return writer_.waiting() == 0 ? INT64_MAX : retry_ns_; }

 private:
  Clock* const clock_;
  const std::string kind_;
  const std::string name_;
  ReceiverReport* const report_;
  NotificationWriter writer_;
  int64_t retry_ns_ = 0;  // time of the next attempt after the log rejected records
};

}  // namespace pitwall::notifier
