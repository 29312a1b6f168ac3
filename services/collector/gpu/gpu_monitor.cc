#include "services/collector/gpu/gpu_monitor.h"

#include <algorithm>
#include <span>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr uint32_t kMaxGpus = 64;
constexpr int64_t kRetryOpenNs = 60 * kNanosPerSecond;
constexpr std::string_view kXidErrors = "gpu_xid_errors_total";
constexpr std::string_view kUnknownGpu = "unknown";
constexpr std::string_view kXidWatch = "gpu_xid_watch_state";

}  // namespace

const std::vector<std::string>& GpuSeriesNames() {
  static const auto& names = *[] {
    const auto probed = GpuProbe::Names();
    auto* all = new std::vector<std::string>(probed.begin(), probed.end());
    all->insert(all->end(), {std::string(kXidErrors), std::string(kXidWatch)});
    std::sort(all->begin(), all->end());
    return all;
  }();
  return names;
}

GpuMonitor::GpuMonitor(std::string library, Clock& clock, Counters* counters)
    : library_(std::move(library)),
      clock_(clock),
      counters_(counters),
      xids_(clock, counters),
      worker_(&clock, "gpu-monitor") {}

void GpuMonitor::Start() {
  worker_.Start([this] { Loop(); });
}

void GpuMonitor::Stop() {
  worker_.Stop();
  xids_.Stop();
}

void GpuMonitor::Loop() {
  while (!worker_.stopping()) {
    if (nvml_ == nullptr && !Open()) {
      worker_.Wait(kRetryOpenNs);
      continue;
    }
    xids_.Start(nvml_.get(), static_cast<uint32_t>(probes_.size()));
    const int64_t begun_ns = clock_.MonotonicNs();
    ReadAll();
    const int64_t took_ns = clock_.MonotonicNs() - begun_ns;
    worker_.Wait(std::max<int64_t>(period_ns_.load() - took_ns, 10 * kNanosPerMilli));
  }
}

bool GpuMonitor::Open() {
  auto opened = Nvml::Open(library_);
  if (!opened.ok()) {
    if (!complained_)
      PITWALL_LOG(kInfo, "collector",
                  "GPU series are not available: ", ToStd(opened.status().message()));
    complained_ = true;
    return false;
  }
  nvml_ = *std::move(opened);
  const auto count = nvml_->Count();
  if (!count.ok() || *count > kMaxGpus) {
    if (!complained_) {
      PITWALL_LOG(kWarning, "collector", "GPU series are not available: ",
                  count.ok() ? std::string_view("too many GPUs") : ToStd(count.status().message()));
    }
    complained_ = true;
    nvml_.reset();
    return false;
  }
  for (uint32_t i = 0; i < *count; ++i)
    probes_.push_back(std::make_unique<GpuProbe>(nvml_.get(), i));
  PITWALL_LOG(kInfo, "collector", "found ", *count, " GPUs");
  return true;
}

void GpuMonitor::ReadAll() {
  std::vector<GpuRows> readings;
  readings.reserve(probes_.size());
  for (const auto& probe : probes_) {
    const uint64_t errors = probe->Read(clock_.MonotonicNs());
    counters_->nvml_errors.fetch_add(errors, std::memory_order_relaxed);
    readings.push_back(probe->rows());
  }
  {
    MutexLock lock(&mutex_);
    readings_ = std::move(readings);
    read_at_ns_ = clock_.MonotonicNs();
  }
  count_ = probes_.size();
}

std::vector<GpuReading> GpuMonitor::Readings() const {
  if (count_ == 0) return {};
  const int64_t oldest_ns =
      clock_.MonotonicNs() - std::max<int64_t>(3 * period_ns_.load(), 2 * kNanosPerSecond);
  std::vector<XidWatch::Gpu> xids = xids_.Now();
  MutexLock lock(&mutex_);
  std::vector<GpuReading> readings;
  readings.reserve(readings_.size());
  for (size_t i = 0; i < readings_.size(); ++i) {
    readings.push_back({readings_[i], std::move(xids[i])});
    auto& values = readings.back().rows.values;
    if (read_at_ns_ < oldest_ns) std::fill(values.begin(), values.end(), MissingValue());
  }
  return readings;
}

namespace {

class GpuReader final : public SeriesReader {
 public:
  GpuReader(const ReaderContext& context, const GpuMonitor* monitor, std::vector<int> only)
      : context_(context),
        monitor_(monitor),
        only_(std::move(only)),
        unattributed_(monitor->UnattributedXids()) {
    std::sort(only_.begin(), only_.end());
    only_.erase(std::unique(only_.begin(), only_.end()), only_.end());
  }

  bool Read() override {
    std::vector<GpuReading> readings = monitor_->Readings();
    bool changed = readings.size() != readings_.size();
    for (size_t i = 0; !changed && i < readings.size(); ++i) {
      changed = readings[i].rows.series != readings_[i].rows.series ||
                readings[i].xids.seen.size() != readings_[i].xids.seen.size();
    }
    readings_ = std::move(readings);
    return ReadUnattributed() || changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (size_t i = 0; i < readings_.size(); ++i) {
      if (!Wants(i)) continue;
      const std::string gpu = Cat(i);
      for (const GpuSeries& one : *readings_[i].rows.series)
        Add(gpu, one.kind, one.name, one.labels, out);
      Add(gpu, SeriesKind::kGauge, kXidWatch, {}, out);
      AddXids(gpu, readings_[i].xids.seen, out);
    }
    AddXids(kUnknownGpu, unattributed_, out);
  }

  double* Fill(double* row) const override {
    for (size_t i = 0; i < readings_.size(); ++i) {
      if (!Wants(i)) continue;
      const GpuReading& r = readings_[i];
      row = std::copy(r.rows.values.begin(), r.rows.values.end(), row);
      *row++ = r.xids.watched ? 1 : 0;
      for (const auto& [code, count] : r.xids.seen) *row++ = static_cast<double>(count);
    }
    for (const auto& [code, count] : unattributed_) *row++ = static_cast<double>(count);
    return row;
  }

 private:
  void Add(std::string_view gpu, SeriesKind kind, std::string_view name,
           std::span<const std::pair<std::string, std::string>> labels,
           std::vector<SeriesDescriptor>* out) const {
    std::vector<Label> all = {{std::string(kMetricName), std::string(name)},
                              {"node", context_.node},
                              {"gpu", std::string(gpu)}};
    for (const auto& [label, value] : labels) all.push_back({label, value});
    out->push_back({Labels::FromPairs(std::move(all)), kind});
  }
  void AddXids(std::string_view gpu, const std::map<std::string, uint64_t>& seen,
               std::vector<SeriesDescriptor>* out) const {
    for (const auto& [code, count] : seen) {
      const std::pair<std::string, std::string> label = {"code", code};
      Add(gpu, SeriesKind::kCounter, kXidErrors, {&label, 1}, out);
    }
  }
  // The node has no gpu_xid_watch_state for these counters, so rules can detect only increases. A
  // new code therefore starts at 0. Codes seen before the job's start keep their count, so that
  // they are not attributed to the job.
  bool ReadUnattributed() {
    std::map<std::string, uint64_t> now = monitor_->UnattributedXids();
    bool changed = false;
    for (auto& [code, count] : now) {
      if (unattributed_.contains(code)) continue;
      changed = true;
      count = 0;
    }
    unattributed_ = std::move(now);
    return changed;
  }
  bool Wants(size_t i) const {
    return only_.empty() || std::binary_search(only_.begin(), only_.end(), static_cast<int>(i));
  }

  const ReaderContext context_;
  const GpuMonitor* const monitor_;
  std::vector<int> only_;
  std::vector<GpuReading> readings_;
  std::map<std::string, uint64_t> unattributed_;  // at the last Read; initially at construction
};

}  // namespace

std::unique_ptr<SeriesReader> NewGpuReader(const ReaderContext& context, const GpuMonitor* monitor,
                                           std::vector<int> only) {
  return std::make_unique<GpuReader>(context, monitor, std::move(only));
}

}  // namespace pitwall::collector
