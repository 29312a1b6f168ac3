// Metrics of one component.
//
// A component owns a Probe, adds its metrics to it once, and exposes them until the probe is
// destroyed. No other code registers a component's metrics
// (docs/decisions/0097-register-metrics-in-the-component-that-owns-them.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "services/model/labels.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::self_metrics {

// Declare the probe after the members that its metrics read, because its destructor removes the
// metrics. The exposition must outlive the probe. Not thread-safe; scrapes may run concurrently.
//
// Names must follow the rules of promtool: counters end with _total, units are base units, and
// names match [a-zA-Z_:][a-zA-Z0-9_:]*. An invalid name, or a second type for the same name, fails
// a PITWALL_CHECK.
class Probe {
 public:
  // A probe without an exposition ignores all metrics.
  explicit Probe(Exposition* exposition = nullptr) : exposition_(exposition) {}
  Probe(Probe&& other) noexcept;
  Probe& operator=(Probe&& other) noexcept;
  ~Probe() { Clear(); }

  // Adds an instrument of the component.
  void Add(std::string_view name, std::string_view help, const Counter* counter,
           Labels labels = {});
  void Add(std::string_view name, std::string_view help, const SharedCounter* counter,
           Labels labels = {});
  void Add(std::string_view name, std::string_view help, const Gauge* gauge, Labels labels = {});
  void Add(std::string_view name, std::string_view help, const Histogram* histogram,
           Labels labels = {});
  // Adds a counter or a gauge whose value each scrape reads with `read`.
  void AddCounter(std::string_view name, std::string_view help, std::function<double()> read,
                  Labels labels = {});
  void AddGauge(std::string_view name, std::string_view help, std::function<double()> read,
                Labels labels = {});
  // Adds a counter or a gauge whose samples each scrape lists with `lister`.
  void ListCounters(std::string_view name, std::string_view help, SampleLister lister);
  void ListGauges(std::string_view name, std::string_view help, SampleLister lister);

 private:
  void Insert(std::string_view name, std::string_view help, MetricType type, Labels labels,
              SampleSource source);
  // Removes all metrics. No callback runs after the call has returned.
  void Clear();

  Exposition* exposition_;
  std::vector<uint64_t> ids_;
};

}  // namespace pitwall::self_metrics
