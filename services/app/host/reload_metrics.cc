#include "services/app/host/reload_metrics.h"

#include "services/base/clock.h"

namespace pitwall {

ReloadMetrics::ReloadMetrics(self_metrics::Exposition* exposition, int64_t now_ns)
    : probe_(exposition) {
  probe_.Add("pitwall_config_last_reload_successful",
             "1 if the last read of the configuration and its rule files succeeded.",
             &last_reload_successful_);
  probe_.Add("pitwall_config_last_reload_success_timestamp_seconds",
             "Unix time of the last successful read of the configuration.", &last_reload_success_);
  Report(true, now_ns);
}

void ReloadMetrics::Report(bool successful, int64_t now_ns) {
  last_reload_successful_.Set(successful ? 1 : 0);
  if (successful) last_reload_success_.Set(static_cast<double>(now_ns) / kNanosPerSecond);
}

}  // namespace pitwall
