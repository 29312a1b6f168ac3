// Catalog of all canonical series from rules/metrics.yaml, which is embedded in the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::check {

enum class MetricKind { kGauge, kCounter };
// Producer of a series. kForeign means a third-party exporter; derive.yaml derives canonical series
// from the exporter's series.
enum class Producer { kCollector, kClient, kEngine, kForeign };

// Alias of a series. Values of the alias times `factor` are in the canonical unit.
struct MetricAlias {
  std::string name;
  double factor = 1;
};

struct MetricInfo {
  std::string name;
  std::string unit;
  MetricKind kind = MetricKind::kGauge;
  std::vector<std::string> labels;
  bool has_steps = false;  // true if also available on the step clock
  Producer producer = Producer::kCollector;
  std::string help;
  std::vector<MetricAlias> aliases;
};

// Immutable and thread-safe.
class MetricCatalog {
 public:
  // Returns the built-in catalog. The first call parses it. A test verifies that it is valid.
  static const MetricCatalog& Builtin();
  static StatusOr<MetricCatalog> Parse(std::string_view file_name, std::string_view text);

  const std::vector<MetricInfo>& metrics() const { return metrics_; }  // in file order
  // Finds a metric by name or alias. Returns nullptr if it is unknown.
  const MetricInfo* Find(std::string_view name) const;
  // Returns all names and aliases, sorted.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<MetricInfo> metrics_;
  StringMap<size_t> index_;
  std::vector<std::string> names_;
};

}  // namespace pitwall::check
