// The text of rules/metrics.yaml; metrics_text.cc is made from it by CMake. Private to this module.
#pragma once

#include <string_view>

namespace pitwall::check {

extern const std::string_view kMetricsText;

}  // namespace pitwall::check
