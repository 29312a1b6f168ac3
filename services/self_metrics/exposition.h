// Contents of a service's /metrics endpoint in the Prometheus text format 0.0.4.
//
// Components add their metrics with a Probe (probe.h). If several components add the same name,
// their samples are merged into one family. The types must agree, and the first help text is used.
// The output is sorted by name and labels. Duplicate samples are omitted and counted, so the output
// is valid regardless of the callbacks. Thread-safe. Callbacks run in the scraping thread while the
// exposition is locked. They must be fast and must not call the exposition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/base/mutex.h"
#include "services/model/labels.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::self_metrics {

enum class MetricType { kCounter, kGauge, kHistogram };

struct Sample {
  Labels labels;
  double value = 0;
};

using SampleLister = std::function<void(std::vector<Sample>*)>;

// Source of a metric's samples: one value, a histogram, or a list of samples.
using SampleSource = std::variant<std::function<double()>, const Histogram*, SampleLister>;

class Probe;

class Exposition {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";
  // Maximum number of samples per family. Additional samples are omitted and counted
  // (pitwall_metrics_omitted_samples).
  static constexpr size_t kMaxSamplesPerFamily = 10'000;

  Exposition();
  ~Exposition();
  Exposition(const Exposition&) = delete;
  Exposition& operator=(const Exposition&) = delete;

  std::string Render() const;

 private:
  friend class Probe;
  struct Item;
  // Returns an ID for Remove. The labels belong to a value or a histogram.
  uint64_t Insert(std::string_view name, std::string_view help, MetricType type, Labels labels,
                  SampleSource source);
  void Remove(uint64_t id);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Item>> items_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace pitwall::self_metrics
