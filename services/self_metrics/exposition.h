// Contents of a service's /metrics endpoint in the Prometheus text format 0.0.4.
//
// Components register the addresses of their instruments, or a callback that lists samples during a
// scrape. If several components register the same name, their samples are merged into one family.
// The types must agree, and the first help text is used. The output is sorted by name and labels.
// Duplicate samples are omitted and counted, so the output is valid regardless of the callbacks.
// Thread-safe. Callbacks run in the scraping thread while the exposition is locked. They must be
// fast and must not call the exposition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/model/labels.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::self_metrics {

enum class MetricType { kCounter, kGauge };

struct Sample {
  Labels labels;
  double value = 0;
};

using SampleLister = std::function<void(std::vector<Sample>*)>;

class Exposition;

// Unregisters the instrument or callback when it is destroyed. The exposition does not use the
// address afterward. The registration must not outlive the exposition.
class [[nodiscard]] Registration {
 public:
  Registration() = default;
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration();

 private:
  friend class Exposition;
  Registration(Exposition* exposition, uint64_t id) : exposition_(exposition), id_(id) {}
  Exposition* exposition_ = nullptr;
  uint64_t id_ = 0;
};

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

  // Names must follow the rules of promtool: counters end with _total, units are base units, and
  // names match [a-zA-Z_:][a-zA-Z0-9_:]*. An invalid name, or a second type for the same name,
  // fails a PITWALL_CHECK.
  Registration Add(std::string_view name, std::string_view help, Labels labels,
                   const Counter* counter);
  Registration Add(std::string_view name, std::string_view help, Labels labels,
                   const SharedCounter* counter);
  Registration Add(std::string_view name, std::string_view help, Labels labels, const Gauge* gauge);
  Registration Add(std::string_view name, std::string_view help, Labels labels,
                   const Histogram* histogram);
  Registration Add(std::string_view name, std::string_view help, MetricType type,
                   SampleLister lister);

  std::string Render() const;

 private:
  friend class Registration;
  struct Item;
  Registration Insert(std::unique_ptr<Item> item);
  void Remove(uint64_t id);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Item>> items_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

// Registers the standard process metrics of Prometheus clients (process_cpu_seconds_total,
// process_resident_memory_bytes, …), read from /proc, and pitwall_build_info{version,service},
// which is always 1.
std::vector<Registration> AddProcessMetrics(Exposition* exposition);
Registration AddBuildInfo(Exposition* exposition, std::string_view version,
                          std::string_view service);

}  // namespace pitwall::self_metrics
