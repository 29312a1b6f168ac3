#include "services/notifier/feed/issue_metrics.h"

#include <string>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::notifier {

void ListOpenCounts(const IssueIndex& index, std::vector<self_metrics::Sample>* out) {
  for (const auto& [key, count] : index.OpenCounts()) {
    out->push_back(
        {Labels{{"rule", key.first}, {"severity", key.second}}, static_cast<double>(count)});
  }
}

void ListIssueSamples(const IssueIndex& index, size_t max, bool* truncated,
                      std::vector<self_metrics::Sample>* out) {
  for (const IssueEventPtr& event : index.List({}, false, nullptr, max, truncated)) {
    std::vector<Label> labels;
    for (const Label& label : event->labels) {
      if (label.name == kMetricName ||
          (label.name == "severity" && label.value == event->severity)) {
        continue;
      }
      const bool taken =
          label.name == "pitwall_job" || label.name == "rule" || label.name == "severity";
      labels.push_back({taken ? Cat("exported_", label.name) : label.name, label.value});
    }
    labels.push_back({"pitwall_job", event->job});
    labels.push_back({"rule", event->rule});
    labels.push_back({"severity", event->severity});
    out->push_back({Labels::FromPairs(std::move(labels)), 1});
  }
}

}  // namespace pitwall::notifier
