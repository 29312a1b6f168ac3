#include "services/app/host/reload_metrics.h"

namespace pitwall {

void ReloadMetrics::Register(self_metrics::Exposition* exposition, int64_t now_ns) {
  registrations_.push_back(
      exposition->Add("pitwall_config_last_reload_successful",
                      "1 if the last read of the configuration and its rule files succeeded.",
                      Labels(), &last_reload_successful_));
  registrations_.push_back(
      exposition->Add("pitwall_config_last_reload_success_timestamp_seconds",
                      "Unix time of the last successful read of the configuration.", Labels(),
                      &last_reload_success_));
  Report(true, now_ns);
}

void ReloadMetrics::Report(bool successful, int64_t now_ns) {
  last_reload_successful_.Set(successful ? 1 : 0);
  if (successful) last_reload_success_.Set(static_cast<double>(now_ns) / kNanosPerSecond);
}

}  // namespace pitwall
