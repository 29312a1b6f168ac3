// Metrics for the last configuration load.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/clock.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Thread-safe, except for Register.
class ReloadMetrics {
 public:
  // Adds the metrics for a process that loaded its configuration at `now_ns` (wall time).
  void Register(self_metrics::Exposition* exposition, int64_t now_ns);
  // Sets the metrics for a configuration load.
  void Report(bool successful, int64_t now_ns);

 private:
  self_metrics::Gauge last_reload_successful_;
  self_metrics::Gauge last_reload_success_;  // in Unix seconds
  std::vector<self_metrics::Registration> registrations_;
};

}  // namespace pitwall
