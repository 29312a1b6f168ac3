// Writer of the notification records of one receiver to pitwall.notifications.
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

// Returns the records of one item: for an incident, one per job that has issues in it. Returns no
// record for a reminder and for an item without an issue. `receiver` and `kind` are those of the
// configuration. `error` is "" if the receiver accepted the notification.
std::vector<NotificationRecord> NotificationRecordsOf(const FeedItem& item,
                                                      std::string_view receiver,
                                                      std::string_view kind, std::string_view error,
                                                      int64_t wall_ns);

// Queue of the records of one receiver. While the log accepts no records, at most kMaxWaiting wait;
// beyond that the oldest are dropped and counted. Not thread-safe.
class NotificationWriter {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  // Both must outlive the writer.
  NotificationWriter(Log* log, self_metrics::Counter* lost) : log_(log), lost_(lost) {}

  void Add(const std::vector<NotificationRecord>& records);
  // Appends the waiting records. Drops them without an error if the topic does not exist. Drops and
  // counts a record that the log rejects as invalid.
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
