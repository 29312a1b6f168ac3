// Metrics for the last configuration load.
#pragma once

#include <cstdint>

#include "services/self_metrics/exposition.h"
#include "services/self_metrics/instruments.h"
#include "services/self_metrics/probe.h"

namespace pitwall {

// Thread-safe.
class ReloadMetrics {
 public:
  // Adds the metrics for a process that loaded its configuration at `now_ns` (wall time). The
  // exposition is borrowed.
  ReloadMetrics(self_metrics::Exposition* exposition, int64_t now_ns);
  // Sets the metrics for a configuration load.
  void Report(bool successful, int64_t now_ns);

 private:
  self_metrics::Gauge last_reload_successful_;
  self_metrics::Gauge last_reload_success_;  // in Unix seconds
  self_metrics::Probe probe_;
};

}  // namespace pitwall
