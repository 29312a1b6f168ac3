// Collector in this process and its connection to the log.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "services/app/config/config.h"
#include "services/app/host/service.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/capture/capture_topic_bridge.h"
#include "services/collector/collector.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// All pointers are borrowed.
class CollectorRole final : public Service {
 public:
  CollectorRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition) {}

  std::string_view name() const override { return "collector"; }
  Status Start(const Config& config) override;
  void Stop() override;
  Status Health() const override { return collector_->Health(); }
  // Sets the sampling interval if the configured interval has changed.
  Status Reload(const Config& fresh) override;

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
  int64_t configured_interval_ns_ = 0;
};

}  // namespace pitwall
