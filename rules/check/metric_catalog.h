// rules/metrics.yaml, built into the binary: every canonical series.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::check {

enum class MetricKind { kGauge, kCounter };
// kForeign: an exporter of others; derive.yaml makes canonical series of what it sends.
enum class Producer { kCollector, kClient, kEngine, kForeign };

// A second name of the same series; its values times `factor` are in our unit.
struct MetricAlias {
  std::string name;
  double factor = 1;
};

struct MetricInfo {
  std::string name;
  std::string unit;
  MetricKind kind = MetricKind::kGauge;
  std::vector<std::string> labels;
  bool has_steps = false;  // visible on the step clock as well
  Producer producer = Producer::kCollector;
  std::string help;
  std::vector<MetricAlias> aliases;
};

// Immutable; thread-safe.
class MetricCatalog {
 public:
  // The one in the binary. Built at the first call; a test proves that it parses.
  static const MetricCatalog& Builtin();
  static StatusOr<MetricCatalog> Parse(std::string_view file_name, std::string_view text);

  const std::vector<MetricInfo>& metrics() const { return metrics_; }  // in the order of the file
  // By name or by alias; nullptr when unknown.
  const MetricInfo* Find(std::string_view name) const;
  // Names and aliases, sorted.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<MetricInfo> metrics_;
  StringMap<size_t> index_;
  std::vector<std::string> names_;
};

}  // namespace pitwall::check
