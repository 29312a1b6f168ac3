// Values of metrics, for tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/base/text/strings.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::self_metrics {

// Returns the value of the first sample of `name`, in the order of the labels. If `label_value` is
// not empty, skips the samples without this label value. Returns nullopt if there is no sample.
inline std::optional<double> MetricValue(const Exposition& exposition, std::string_view name,
                                         std::string_view label_value = "") {
  const std::string text = exposition.Render();
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view rest = line.substr(StartsWith(line, name) ? name.size() : line.size());
    if (!StartsWith(rest, " ") && !StartsWith(rest, "{")) continue;
    if (!label_value.empty() && rest.find(Cat("=\"", label_value, "\"")) == rest.npos) continue;
    return ParseDouble(rest.substr(rest.rfind(' ') + 1));
  }
  return std::nullopt;
}

}  // namespace pitwall::self_metrics
