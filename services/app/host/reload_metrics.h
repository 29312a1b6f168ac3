// Metrics of the last read of the configuration.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/clock.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Thread-safe, except Register.
class ReloadMetrics {
 public:
  // Adds the metrics for a process that has read its configuration at `now_ns`, a wall time.
  void Register(self_metrics::Exposition* exposition, int64_t now_ns);
  // Sets the metrics for a read of the configuration.
  void Report(bool successful, int64_t now_ns);

 private:
  self_metrics::Gauge last_reload_successful_;
  self_metrics::Gauge last_reload_success_;  // in Unix seconds
  std::vector<self_metrics::Registration> registrations_;
};

}  // namespace pitwall
