#include "services/collector/gpu_monitor.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr uint32_t kMaxGpus = 64;
constexpr int64_t kRetryOpenNs = 60 * kNanosPerSecond;
constexpr int64_t kSlowPeriodNs =
    kNanosPerSecond;  // memory and temperature: they change slowly and cost as much
constexpr size_t kColumns = 5;

GpuReading Nothing() {
  return {MissingValue(), MissingValue(), MissingValue(), MissingValue(), MissingValue()};
}

}  // namespace

const std::vector<std::string>& GpuSeriesNames() {
  static const auto& names = *new std::vector<std::string>{
      "hw_gpu_memory_limit_bytes", "hw_gpu_memory_usage_bytes", "hw_gpu_utilization_ratio",
      "hw_power_watts", "hw_temperature_celsius"};
  return names;
}

GpuMonitor::GpuMonitor(std::string library, Clock& clock, Counters* counters)
    : library_(std::move(library)),
      clock_(clock),
      counters_(counters),
      wakeup_(clock.NewWakeup()) {}

GpuMonitor::~GpuMonitor() { Stop(); }

void GpuMonitor::Start() {
  stopping_ = false;
  thread_ = std::thread([this] { Loop(); });
}

void GpuMonitor::Stop() {
  stopping_ = true;
  wakeup_->Wake();
  if (thread_.joinable()) thread_.join();
}

void GpuMonitor::Loop() {
  int64_t next_slow_ns = clock_.MonotonicNs();
  while (!stopping_) {
    if (nvml_ == nullptr && !Open()) {
      if (stopping_) return;
      wakeup_->Wait(kRetryOpenNs);
      continue;
    }
    const int64_t begun_ns = clock_.MonotonicNs();
    const bool slow_ones = begun_ns >= next_slow_ns;
    if (slow_ones) next_slow_ns = begun_ns + kSlowPeriodNs;
    ReadAll(slow_ones);
    const int64_t took_ns = clock_.MonotonicNs() - begun_ns;
    if (stopping_) return;
    wakeup_->Wait(std::max<int64_t>(period_ns_.load() - took_ns, 10 * kNanosPerMilli));
  }
}

bool GpuMonitor::Open() {
  auto opened = Nvml::Open(library_);
  if (!opened.ok()) {
    if (!complained_)
      PITWALL_LOG(kInfo, "collector", "no GPU series: ", ToStd(opened.status().message()));
    complained_ = true;
    return false;
  }
  nvml_ = *std::move(opened);
  const auto count = nvml_->Count();
  if (!count.ok() || *count > kMaxGpus) {
    if (!complained_) {
      PITWALL_LOG(kWarning, "collector", "no GPU series: ",
                  count.ok() ? std::string_view("too many GPUs") : ToStd(count.status().message()));
    }
    complained_ = true;
    nvml_.reset();
    return false;
  }
  devices_.assign(*count, nullptr);
  {
    MutexLock lock(&mutex_);
    readings_.assign(*count, Nothing());
  }
  PITWALL_LOG(kInfo, "collector", *count, " GPUs");
  return true;
}

void GpuMonitor::ReadAll(bool slow_ones) {
  std::vector<GpuReading> readings;
  {
    MutexLock lock(&mutex_);
    readings = readings_;
  }
  auto value = [this](const StatusOr<double>& read) {
    if (read.ok()) return *read;
    counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
    return MissingValue();
  };
  for (uint32_t i = 0; i < devices_.size(); ++i) {
    GpuReading& r = readings[i];
    if (devices_[i] == nullptr) {
      const auto device = nvml_->Get(i);
      if (!device.ok()) {
        counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
        r = Nothing();
        continue;
      }
      devices_[i] = *device;
    }
    r.utilization_ratio = value(nvml_->UtilizationRatio(devices_[i]));
    r.power_watts = value(nvml_->PowerWatts(devices_[i]));
    if (!slow_ones) continue;
    r.temperature_celsius = value(nvml_->TemperatureCelsius(devices_[i]));
    const auto memory = nvml_->MemoryInfo(devices_[i]);
    if (!memory.ok()) counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
    r.memory_used_bytes = memory.ok() ? memory->used_bytes : MissingValue();
    r.memory_total_bytes = memory.ok() ? memory->total_bytes : MissingValue();
  }
  {
    MutexLock lock(&mutex_);
    readings_ = std::move(readings);
    read_at_ns_ = clock_.MonotonicNs();
  }
  count_ = devices_.size();
}

std::vector<GpuReading> GpuMonitor::Readings() const {
  if (count_ == 0) return {};
  const int64_t oldest_ns =
      clock_.MonotonicNs() - std::max<int64_t>(3 * period_ns_.load(), 2 * kNanosPerSecond);
  MutexLock lock(&mutex_);
  std::vector<GpuReading> readings = readings_;
  if (read_at_ns_ < oldest_ns) {
    for (GpuReading& r : readings) r = Nothing();
  }
  return readings;
}

namespace {

class GpuReader final : public SeriesReader {
 public:
  GpuReader(const ReaderContext& context, const GpuMonitor* monitor, std::vector<int> only)
      : context_(context), monitor_(monitor), only_(std::move(only)) {
    std::sort(only_.begin(), only_.end());
    only_.erase(std::unique(only_.begin(), only_.end()), only_.end());
  }

  bool Read() override {
    readings_ = monitor_->Readings();
    std::vector<size_t> indices;
    for (size_t i = 0; i < readings_.size(); ++i) {
      if (only_.empty() || std::binary_search(only_.begin(), only_.end(), static_cast<int>(i)))
        indices.push_back(i);
    }
    const bool changed = indices != indices_;
    indices_ = std::move(indices);
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (size_t i : indices_) {
      const std::string gpu = Cat(i);
      for (std::string_view name :
           {"hw_gpu_utilization_ratio", "hw_gpu_memory_usage_bytes", "hw_gpu_memory_limit_bytes",
            "hw_power_watts", "hw_temperature_celsius"}) {
        out->push_back(NodeSeries(context_, SeriesKind::kGauge, name, {{"gpu", gpu}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (size_t i : indices_) {
      const GpuReading& r = readings_[i];
      row[0] = r.utilization_ratio;
      row[1] = r.memory_used_bytes;
      row[2] = r.memory_total_bytes;
      row[3] = r.power_watts;
      row[4] = r.temperature_celsius;
      row += kColumns;
    }
    return row;
  }

 private:
  const ReaderContext context_;
  const GpuMonitor* const monitor_;
  std::vector<int> only_;
  std::vector<size_t> indices_;
  std::vector<GpuReading> readings_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewGpuReader(const ReaderContext& context, const GpuMonitor* monitor,
                                           std::vector<int> only) {
  return std::make_unique<GpuReader>(context, monitor, std::move(only));
}

}  // namespace pitwall::collector
