#include "services/notifier/delivery/notification_recorder.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::notifier {

NotificationRecorder::NotificationRecorder(Clock* clock, Log* log, std::string kind,
                                           std::string name, ReceiverReport* report)
    : clock_(clock),
      kind_(std::move(kind)),
      name_(std::move(name)),
      report_(report),
      writer_(log, report->unrecorded()) {}

void NotificationRecorder::Record(const FeedItem& item, std::string_view error) {
  writer_.Add(NotificationRecordsOf(item, name_, kind_, error, clock_->WallNs()));
  retry_ns_ = 0;
}

void NotificationRecorder::FlushIfDue(int64_t now_ns) {
  if (writer_.waiting() == 0 || now_ns < retry_ns_) return;
  const Status flushed = writer_.Flush();
  if (flushed.ok()) return;
  retry_ns_ = clock_->MonotonicNs() + kNanosPerSecond;
  report_->RecordError(
      Cat("failed to record notifications in the log: ", ToStd(flushed.message())));
}

}  // namespace pitwall::notifier
