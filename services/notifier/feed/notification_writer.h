// Writer for a receiver's notification records on pitwall.notifications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "services/io/io.h"
#include "services/model/issues/notification.h"
#include "services/notifier/feed/recent_events.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// Returns the records for one item. For an incident, there is one record per job with issues in the
// incident. Reminders and items without an issue have no record. `receiver` and `kind` come from
// the configuration. `error` is "" if the receiver accepted the notification.
std::vector<NotificationRecord> NotificationRecordsOf(const FeedItem& item,
                                                      std::string_view receiver,
                                                      std::string_view kind, std::string_view error,
                                                      int64_t wall_ns);

// Queue for one receiver's records. At most kMaxWaiting records wait while the log is unavailable.
// Above this limit, the oldest records are dropped and counted. Not thread-safe.
class NotificationWriter {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  // Both pointers must outlive the writer.
  NotificationWriter(Log* log, self_metrics::Counter* lost) : log_(log), lost_(lost) {}

  void Add(const std::vector<NotificationRecord>& records);
  // Appends the waiting records. If the topic does not exist, drops the records without an error. A
  // record that the log rejects as invalid is dropped and counted.
  Status Flush();
  size_t waiting() const { return waiting_.size(); }

 private:
  Status FlushOneByOne();

  Log* const log_;
  self_metrics::Counter* const lost_;
  std::unique_ptr<Appender> appender_;
  std::deque<OutgoingRecord> waiting_;
};

}  // namespace pitwall::notifier
