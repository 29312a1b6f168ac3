#include "services/self_metrics/probe.h"

#include <utility>

namespace pitwall::self_metrics {

Probe::Probe(Probe&& other) noexcept
    : exposition_(other.exposition_), ids_(std::exchange(other.ids_, {})) {}

Probe& Probe::operator=(Probe&& other) noexcept {
  if (this != &other) {
    Clear();
    exposition_ = other.exposition_;
    ids_ = std::exchange(other.ids_, {});
  }
  return *this;
}

void Probe::Add(std::string_view name, std::string_view help, const Counter* counter,
                Labels labels) {
  AddCounter(
      name, help, [counter] { return counter->value(); }, std::move(labels));
}

void Probe::Add(std::string_view name, std::string_view help, const SharedCounter* counter,
                Labels labels) {
  AddCounter(
      name, help, [counter] { return counter->value(); }, std::move(labels));
}

void Probe::Add(std::string_view name, std::string_view help, const Gauge* gauge, Labels labels) {
  AddGauge(
      name, help, [gauge] { return gauge->value(); }, std::move(labels));
}

void Probe::Add(std::string_view name, std::string_view help, const Histogram* histogram,
                Labels labels) {
  Insert(name, help, MetricType::kHistogram, std::move(labels), histogram);
}

void Probe::AddCounter(std::string_view name, std::string_view help, std::function<double()> read,
                       Labels labels) {
  Insert(name, help, MetricType::kCounter, std::move(labels), std::move(read));
}

void Probe::AddGauge(std::string_view name, std::string_view help, std::function<double()> read,
                     Labels labels) {
  Insert(name, help, MetricType::kGauge, std::move(labels), std::move(read));
}

void Probe::ListCounters(std::string_view name, std::string_view help, SampleLister lister) {
  Insert(name, help, MetricType::kCounter, {}, std::move(lister));
}

void Probe::ListGauges(std::string_view name, std::string_view help, SampleLister lister) {
  Insert(name, help, MetricType::kGauge, {}, std::move(lister));
}

void Probe::Clear() {
  for (const uint64_t id : std::exchange(ids_, {})) exposition_->Remove(id);
}

void Probe::Insert(std::string_view name, std::string_view help, MetricType type, Labels labels,
                   SampleSource source) {
  if (exposition_ == nullptr) return;
  ids_.push_back(exposition_->Insert(name, help, type, std::move(labels), std::move(source)));
}

}  // namespace pitwall::self_metrics
