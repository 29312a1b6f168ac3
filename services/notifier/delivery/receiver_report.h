// Operator-facing report about one receiver: metrics, last error, and health.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/log_reset_notice.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/instruments.h"
#include "services/self_metrics/probe.h"

namespace pitwall::notifier {

// Thread-safe. The worker's thread writes, and any thread may read. The exposition is borrowed and
// may be null.
class ReceiverReport {
 public:
  ReceiverReport(std::string name, std::shared_ptr<const Receiver> receiver,
                 self_metrics::Exposition* exposition = nullptr);

  // Returns the name for log lines, such as "webhook pager".
  const std::string& title() const { return title_; }

  // Records an error, or a success if `error` is "".
  void RecordError(std::string_view error);
  // Records and logs that the log was replaced. `now_ns` is a monotonic time.
  void RecordReset(const std::string& text, int64_t now_ns);
  // Records and logs that events were deleted before they were read.
  void RecordGap(std::string_view text);
  void RecordStoreFailure(const Status& failure);
  void RecordAttempt(int64_t duration_ns);
  void RecordDelivered() { delivered_.Add(); }
  void RecordFailed() { failed_.Add(); }
  void RecordGivenUp() { given_up_.Add(); }
  void RecordSuppressed(uint64_t events) { suppressed_.Add(events); }
  // Returns the counter for notification records that the log did not accept.
  self_metrics::Counter* unrecorded() { return &notifications_unrecorded_; }

  void SetPending(size_t events) { pending_ = events; }
  void SetWithheld(size_t issues) { withheld_ = issues; }
  void SetBreakerOpen(bool open) { breaker_open_ = open; }
  // Records that the receiver is gone.
  void SetDisabled() { disabled_ = true; }
  bool disabled() const { return disabled_; }

  ReceiverStatus status() const;
  // Returns FailedPrecondition for some time after RecordReset. `now_ns` is a monotonic time.
  Status Health(int64_t now_ns) const;

 private:
  // Adds the metrics with names that start with `prefix`.
  void AddMetrics(const std::string& prefix, const Labels& labels);

  const std::string name_;
  const std::shared_ptr<const Receiver> receiver_;
  const std::string title_;
  self_metrics::Counter delivered_, failed_, given_up_, lost_, store_failures_, suppressed_,
      resets_, notifications_unrecorded_;
  self_metrics::Histogram seconds_;
  std::atomic<size_t> pending_{0};
  std::atomic<size_t> withheld_{0};
  std::atomic<bool> disabled_{false};
  std::atomic<bool> breaker_open_{false};
  mutable Mutex mutex_;
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  LogResetNotice notice_ ABSL_GUARDED_BY(mutex_);
  self_metrics::Probe probe_;
};

}  // namespace pitwall::notifier
