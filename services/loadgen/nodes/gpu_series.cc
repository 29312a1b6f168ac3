#include "services/loadgen/nodes/gpu_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"
#include "services/loadgen/noise.h"
#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;
constexpr double kGibi = 1024.0 * 1024 * 1024;

// GPU series as emitted by the collector's probe: kind, name, one or two labels, and the value for
// an idle GPU. The enum below contains the row indices of the values that change.
struct GpuRow {
  SeriesKind kind;
  std::string_view name;
  double value;
  std::string_view label = {};
  std::string_view label_value = {};
  std::string_view label2 = {};
  std::string_view label2_value = {};
};
constexpr std::string_view kReason = "gpu_clock_event_state";
constexpr std::string_view kEcc = "gpu_ecc_errors_total";
constexpr std::string_view kLinkErrors = "gpu_nvlink_errors_total";
constexpr GpuRow kGpuRows[] = {
    {kGauge, "hw_gpu_utilization_ratio", 0},
    {kGauge, "hw_gpu_memory_usage_bytes", 74.5 * kGibi},
    {kGauge, "hw_gpu_memory_limit_bytes", 80 * kGibi},
    {kGauge, "hw_power_watts", 120},
    {kGauge, "hw_temperature_celsius", 35},
    {kGauge, "gpu_info", 1},
    {kGauge, "gpu_processes", 1},
    {kGauge, "gpu_sm_active_ratio", 0},
    {kGauge, "gpu_tensor_active_ratio", 0},
    {kGauge, "gpu_dram_active_ratio", 0},
    {kGauge, "gpu_clock_sm_hertz", 1980e6},
    {kGauge, "gpu_clock_sm_limit_hertz", 1980e6},
    {kGauge, "gpu_clock_memory_hertz", 2619e6},
    {kGauge, kReason, 0, "reason", "idle"},
    {kGauge, kReason, 0, "reason", "app_setting"},
    {kGauge, kReason, 0, "reason", "sw_power_cap"},
    {kGauge, kReason, 0, "reason", "hw_slowdown"},
    {kGauge, kReason, 0, "reason", "sync_boost"},
    {kGauge, kReason, 0, "reason", "sw_thermal"},
    {kGauge, kReason, 0, "reason", "hw_thermal"},
    {kGauge, kReason, 0, "reason", "hw_power_brake"},
    {kGauge, kReason, 0, "reason", "display"},
    {kGauge, "gpu_power_limit_watts", 700},
    {kCounter, "gpu_energy_joules_total", 0},
    {kGauge, "gpu_memory_temperature_celsius", 45},
    {kGauge, "gpu_temperature_margin_celsius", 40},
    {kCounter, kEcc, 0, "type", "corrected", "location", "sram"},
    {kCounter, kEcc, 0, "type", "corrected", "location", "dram"},
    {kCounter, kEcc, 0, "type", "corrected", "location", "all"},
    {kCounter, kEcc, 0, "type", "uncorrected", "location", "sram"},
    {kCounter, kEcc, 0, "type", "uncorrected", "location", "dram"},
    {kCounter, kEcc, 0, "type", "uncorrected", "location", "all"},
    {kGauge, "gpu_row_remap_rows", 0, "type", "correctable"},
    {kGauge, "gpu_row_remap_rows", 0, "type", "uncorrectable"},
    {kGauge, "gpu_row_remap_pending", 0},
    {kGauge, "gpu_row_remap_failed", 0},
    {kCounter, "gpu_pcie_replay_total", 0},
    {kGauge, "gpu_pcie_link_generation", 5},
    {kGauge, "gpu_pcie_link_generation_limit", 5},
    {kGauge, "gpu_pcie_link_width", 16},
    {kGauge, "gpu_pcie_link_width_limit", 16},
    {kGauge, "gpu_pcie_io_bytes_per_second", 0, "direction", "transmit"},
    {kGauge, "gpu_pcie_io_bytes_per_second", 0, "direction", "receive"},
    {kGauge, "gpu_nvlink_links", 18},
    {kGauge, "gpu_nvlink_active_links", 18},
    {kCounter, "gpu_nvlink_io_bytes_total", 0, "direction", "transmit"},
    {kCounter, "gpu_nvlink_io_bytes_total", 0, "direction", "receive"},
    {kCounter, kLinkErrors, 0, "type", "crc_flit"},
    {kCounter, kLinkErrors, 0, "type", "crc_data"},
    {kCounter, kLinkErrors, 0, "type", "replay"},
    {kCounter, kLinkErrors, 0, "type", "recovery"},
};
constexpr size_t kGpuColumns = std::size(kGpuRows);
enum GpuColumn : size_t {
  kUtilization = 0,
  kPower = 3,
  kTemperature = 4,
  kGpm = 7,
  kIdle = 13,
  kEnergy = 23,
  kMemoryTemperature = 24,
  kMargin = 25,
  kPcie = 41,
  kNvlink = 45,
};

}  // namespace

GpuSeries::GpuSeries(int64_t gpus, uint64_t seed, std::string node)
    : stream_(3, node), seed_(seed), node_(std::move(node)) {
  for (int64_t g = 0; g < gpus; ++g) {
    energy_.push_back(1e9 + 1e6 * static_cast<double>(g));
    nvlink_.push_back(1e15);
  }
  Describe();
}

void GpuSeries::Describe() {
  std::vector<SeriesDescriptor> out;
  for (int64_t g = 0; g < static_cast<int64_t>(energy_.size()); ++g) {
    const std::string gpu = Cat(g);
    for (const GpuRow& row : kGpuRows) {
      if (row.name == "gpu_info") {
        out.push_back(stream_.Series(row.kind, row.name,
                                     {{"gpu", gpu},
                                      {"uuid", Cat("GPU-", Hex(node_), "-", gpu)},
                                      {"model", "NVIDIA H100 80GB HBM3"}}));
      } else {
        out.push_back(stream_.Series(
            row.kind, row.name,
            {{"gpu", gpu},
             {row.label.empty() ? "-" : row.label, std::string(row.label_value)},
             {row.label2.empty() ? "-" : row.label2, std::string(row.label2_value)}}));
      }
    }
    out.push_back(stream_.Series(kGauge, "gpu_xid_watch_state", {{"gpu", gpu}}));
    if (g == lost_gpu_)
      out.push_back(
          stream_.Series(kCounter, "gpu_xid_errors_total", {{"gpu", gpu}, {"code", "79"}}));
  }
  stream_.SetSchema(std::move(out));
}

void GpuSeries::Lose(int64_t gpu) {
  // All rows in a batch share one schema. Earlier rows therefore get a missing value for the new
  // column.
  std::vector<double>& row = stream_.values();
  const size_t old_width = stream_.width();
  const size_t rows = old_width == 0 ? 0 : row.size() / old_width;
  lost_gpu_ = gpu;
  Describe();
  if (lost_gpu_ < 0) return;
  const size_t at = static_cast<size_t>(lost_gpu_ + 1) * (kGpuColumns + 1);
  for (size_t r = 0; r < rows; ++r)
    row.insert(row.begin() + static_cast<ptrdiff_t>(r * (old_width + 1) + at), MissingValue());
}

void GpuSeries::Sample(const NodeTick& tick, const NodeMood& mood) {
  std::vector<double>& row = stream_.values();
  if (mood.lost_gpu != lost_gpu_) Lose(mood.lost_gpu);
  for (int64_t g = 0; g < static_cast<int64_t>(energy_.size()); ++g) {
    const auto index = static_cast<size_t>(g);
    const size_t at = row.size();
    row.resize(at + kGpuColumns);
    double* out = row.data() + at;
    for (size_t i = 0; i < kGpuColumns; ++i) out[i] = kGpuRows[i].value;
    const uint64_t bits = Mix(seed_, 0x60 + index, tick.number);
    const double percent = mood.working ? 93 + static_cast<double>(bits % 8) : 100;
    const double watts = mood.working ? 610 + 30 * Bell(Mix(bits)) : 190 + 4 * Bell(Mix(bits));
    out[kUtilization] = percent * 0.01;
    out[kPower] = std::round(watts * 1000) / 1000;
    out[kTemperature] = std::round(mood.working ? 61 + Bell(bits) : 42 + 0.5 * Bell(bits));
    out[kGpm] = mood.working ? 0.82 + 0.03 * Bell(Mix(bits, 1)) : 0.06;
    out[kGpm + 1] = mood.working ? 0.48 + 0.03 * Bell(Mix(bits, 2)) : 0;
    out[kGpm + 2] = mood.working ? 0.39 + 0.02 * Bell(Mix(bits, 3)) : 0;
    energy_[index] = std::round((energy_[index] + watts * tick.seconds) * 1000) / 1000;
    out[kEnergy] = energy_[index];
    out[kMemoryTemperature] = out[kTemperature] + 12;
    out[kMargin] = 87 - out[kTemperature];
    out[kPcie] = std::floor(mood.working ? 2e9 + 1e8 * Bell(Mix(bits, 4)) : 1e6);
    out[kPcie + 1] = std::floor(mood.working ? 9e9 + 4e8 * Bell(Mix(bits, 5)) : 1e6);
    nvlink_[index] +=
        std::floor(mood.working ? tick.seconds * 1.6e11 * (1 + 0.1 * Uniform(bits)) : 0);
    out[kNvlink] = out[kNvlink + 1] = nvlink_[index];
    if (g == lost_gpu_) std::fill(out, out + kGpuColumns, MissingValue());
    row.push_back(1);  // value of gpu_xid_watch_state
    if (g == lost_gpu_) row.push_back(1);
  }
}

}  // namespace pitwall::loadgen
