// Record of a delivery on pitwall.told: the receiver, the notification, and the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "services/io/io.h"
#include "services/model/issues/told.h"
#include "services/notifier/feed/recent_events.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// The records of one item: of an incident one for each job that has issues of it. None of a
// reminder, and none of what is about no issue. `receiver`, `kind`: whom; `error`: "" when taken.
std::vector<ToldNotice> ToldOf(const FeedItem& item, std::string_view receiver,
                               std::string_view kind, std::string_view error, int64_t wall_ns);

// Records of one receiver on their way into the log, kept back while that does not take them: at
// most kMaxWaiting, of more the oldest are lost and counted. Not thread-safe.
class NotificationRecords {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  // Both borrowed.
  NotificationRecords(Log* log, self_metrics::Counter* lost) : log_(log), lost_(lost) {}

  void Add(const std::vector<ToldNotice>& told);
  // Appends what waits. A topic that nobody made takes nothing, and that is no fault. A record that
  // the log never takes is dropped and counted.
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
