// Contents of rules/metrics.yaml. CMake generates metrics_text.cc from the file. Private to this
// module.
#pragma once

#include <string_view>

namespace pitwall::check {

extern const std::string_view kMetricsText;

}  // namespace pitwall::check
