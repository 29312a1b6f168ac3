// Collector in this process and its connection to the log.
#pragma once

#include <cstdint>
#include <memory>

#include "services/app/config/config.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/capture/capture_topic_bridge.h"
#include "services/collector/collector.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Start, SetInterval, and Stop must be called on one thread. Health may be called from any thread
// after Start. All pointers are borrowed.
class CollectorRole {
 public:
  CollectorRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition) {}

  Status Start(const Config& config);
  // Sets the sampling interval.
  Status SetInterval(int64_t interval_ns) { return collector_->SetInterval(interval_ns); }
  void Stop();
  Status Health() const { return collector_->Health(); }

 private:
  // Applies a request for a different sampling interval if the job in the request runs on this
  // node.
  void FollowInterval(const ActionEvent& request);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<Appender> appender_;
  std::unique_ptr<collector::CaptureTopicBridge> capture_bridge_;
  std::unique_ptr<HttpTransport> pods_transport_;
  std::unique_ptr<collector::Collector> collector_;
};

}  // namespace pitwall
