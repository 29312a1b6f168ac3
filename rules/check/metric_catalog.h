// Catalog of all canonical series: rules/metrics.yaml, built into the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::check {

enum class MetricKind { kGauge, kCounter };
// kForeign: the producer is a third-party exporter; derive.yaml derives canonical series from it.
enum class Producer { kCollector, kClient, kEngine, kForeign };

// An alias of a series. Its values times `factor` are in the canonical unit.
struct MetricAlias {
  std::string name;
  double factor = 1;
};

struct MetricInfo {
  std::string name;
  std::string unit;
  MetricKind kind = MetricKind::kGauge;
  std::vector<std::string> labels;
  bool has_steps = false;  // also available on the step clock
  Producer producer = Producer::kCollector;
  std::string help;
  std::vector<MetricAlias> aliases;
};

// Immutable; thread-safe.
class MetricCatalog {
 public:
  // The built-in catalog. Built on the first call; a test verifies that it parses.
  static const MetricCatalog& Builtin();
  static StatusOr<MetricCatalog> Parse(std::string_view file_name, std::string_view text);

  const std::vector<MetricInfo>& metrics() const { return metrics_; }  // in file order
  // Finds a metric by name or alias; nullptr if it is unknown.
  const MetricInfo* Find(std::string_view name) const;
  // Names and aliases, sorted.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<MetricInfo> metrics_;
  StringMap<size_t> index_;
  std::vector<std::string> names_;
};

}  // namespace pitwall::check
