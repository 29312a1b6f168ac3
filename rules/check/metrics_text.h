// Text of rules/metrics.yaml; CMake generates metrics_text.cc from it. Private to this module.
#pragma once

#include <string_view>

namespace pitwall::check {

extern const std::string_view kMetricsText;

}  // namespace pitwall::check
