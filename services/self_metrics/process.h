// Metrics of the process and of its version.
#pragma once

#include <string_view>

#include "services/self_metrics/probe.h"

namespace pitwall::self_metrics {

// Adds the standard process metrics of Prometheus clients (process_cpu_seconds_total,
// process_resident_memory_bytes, …), read from /proc.
void AddProcessMetrics(Probe* probe);
// Adds pitwall_build_info{version,service}, which is always 1.
void AddBuildInfo(std::string_view version, std::string_view service, Probe* probe);

}  // namespace pitwall::self_metrics
