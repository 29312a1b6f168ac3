#include "services/loadgen/node_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "services/base/text/strings.h"
#include "services/loadgen/noise.h"
#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;
constexpr std::array<std::string_view, 8> kModes = {"user",   "nice", "system",  "idle",
                                                    "iowait", "irq",  "softirq", "steal"};
constexpr double kGibi = 1024.0 * 1024 * 1024;
constexpr double kRankBytes = 6 * kGibi;
constexpr double kPage = 4096;

// GPU series as the collector's probe emits it: kind, name, one or two labels, and the value for an
// idle GPU. The enum below contains the row indices of the values that change.
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

// Rounds a size down to a whole number of memory pages.
double Pages(double bytes) { return std::floor(bytes / kPage) * kPage; }

}  // namespace

NodeSeries::NodeSeries(const LoadPlan& plan, uint64_t seed, std::string node)
    : plan_(plan), seed_(seed), node_(std::move(node)) {
  cores_.resize(static_cast<size_t>(plan.cores));
  for (size_t i = 0; i < cores_.size(); ++i) {
    cores_[i].seed = Mix(seed_, 0xc0, i);
    // Ten percent of the cores feed data to the GPUs. The other cores are mostly idle.
    const double u = Uniform(cores_[i].seed);
    cores_[i].busy = u < 0.1 ? 0.55 + 0.3 * Uniform(Mix(cores_[i].seed)) : 0.3 * u * u;
    for (size_t m = 0; m < 8; ++m)
      cores_[i].jiffies[m] = Mix(cores_[i].seed, m) % (m == 3 ? 40'000'000 : 90'000);
  }
  network_ = {4e12, 5e12, 3e9, 4e9, 0, 0, 12, 0};
  disk_ = {2e12, 9e11, 4e7, 2e7, 3e5};
  pressure_ = {120, 0, 60, 20, 0.5, 0.1};
  tcp_sent_ = 6e9;
  for (int64_t g = 0; g < plan.gpus; ++g) {
    energy_.push_back(1e9 + 1e6 * static_cast<double>(g));
    nvlink_.push_back(1e15);
  }
  Describe();
  DescribeGpus();
}

SeriesDescriptor NodeSeries::Series(
    SeriesKind kind, std::string_view name,
    std::initializer_list<std::pair<std::string_view, std::string>> labels) const {
  std::vector<Label> pairs = {{std::string(kMetricName), std::string(name)}, {"node", node_}};
  for (const auto& [label, value] : labels) pairs.push_back({std::string(label), value});
  return {Labels::FromPairs(std::move(pairs)), kind};
}

void NodeSeries::SetSchema(size_t stream, std::vector<SeriesDescriptor> series) {
  Schema schema;
  schema.stream = static_cast<uint32_t>(stream) + 1;
  schema.series = std::move(series);
  schema.id = SchemaId(schema.stream, schema.series);
  streams_[stream].schema = SharedSchema(std::move(schema));
}

void NodeSeries::Describe() {
  std::vector<SeriesDescriptor> system;
  for (const char* state : {"used", "free", "cached", "buffers"})
    system.push_back(Series(kGauge, "system_memory_usage_bytes", {{"state", state}}));
  system.push_back(Series(kGauge, "system_memory_limit_bytes", {}));
  system.push_back(Series(kGauge, "system_memory_utilization_ratio", {}));
  for (const char* name : {"system_network_io_bytes_total", "system_network_packets_total",
                           "system_network_errors_total", "system_network_dropped_total"}) {
    for (const char* direction : {"receive", "transmit"})
      system.push_back(Series(kCounter, name, {{"device", "eth0"}, {"direction", direction}}));
  }
  for (const char* name : {"system_disk_io_bytes_total", "system_disk_operations_total"}) {
    for (const char* direction : {"read", "write"})
      system.push_back(Series(kCounter, name, {{"device", "nvme0n1"}, {"direction", direction}}));
  }
  system.push_back(Series(kCounter, "system_disk_io_time_seconds_total", {{"device", "nvme0n1"}}));
  for (const char* resource : {"cpu", "io", "memory"}) {
    for (const char* kind : {"some", "full"})
      system.push_back(Series(kCounter, "system_pressure_stall_seconds_total",
                              {{"resource", resource}, {"kind", kind}}));
  }
  system.push_back(Series(kGauge, "system_load_average_1m", {}));
  system.push_back(Series(kCounter, "system_network_tcp_segments_sent_total", {}));
  system.push_back(Series(kCounter, "system_network_tcp_segments_retransmitted_total", {}));
  SetSchema(0, std::move(system));
  std::vector<SeriesDescriptor> cores;
  for (size_t i = 0; i < cores_.size(); ++i) {
    for (std::string_view mode : kModes)
      cores.push_back(Series(kGauge, "system_cpu_utilization_ratio",
                             {{"cpu", Cat(i)}, {"mode", std::string(mode)}}));
    for (std::string_view mode : kModes)
      cores.push_back(Series(kCounter, "system_cpu_time_seconds_total",
                             {{"cpu", Cat(i)}, {"mode", std::string(mode)}}));
  }
  SetSchema(1, std::move(cores));
}

void NodeSeries::DescribeGpus() {
  std::vector<SeriesDescriptor> out;
  for (int64_t g = 0; g < plan_.gpus; ++g) {
    const std::string gpu = Cat(g);
    for (const GpuRow& row : kGpuRows) {
      if (row.name == "gpu_info") {
        out.push_back(Series(row.kind, row.name,
                             {{"gpu", gpu},
                              {"uuid", Cat("GPU-", Hex(node_), "-", gpu)},
                              {"model", "NVIDIA H100 80GB HBM3"}}));
      } else {
        out.push_back(
            Series(row.kind, row.name,
                   {{"gpu", gpu},
                    {row.label.empty() ? "-" : row.label, std::string(row.label_value)},
                    {row.label2.empty() ? "-" : row.label2, std::string(row.label2_value)}}));
      }
    }
    out.push_back(Series(kGauge, "gpu_xid_watch_state", {{"gpu", gpu}}));
    if (g == lost_gpu_)
      out.push_back(Series(kCounter, "gpu_xid_errors_total", {{"gpu", gpu}, {"code", "79"}}));
  }
  SetSchema(2, std::move(out));
}

void NodeSeries::DescribeProcesses() {
  std::vector<SeriesDescriptor> out;
  for (int64_t rank : ranks_) {
    out.push_back(Series(kCounter, "process_cpu_seconds_total", {{"rank", Cat(rank)}}));
    out.push_back(Series(kGauge, "process_memory_usage_bytes", {{"rank", Cat(rank)}}));
  }
  SetSchema(3, std::move(out));
}

void NodeSeries::Sample(int64_t time_ns, const NodeMood& mood) {
  if (taken_) {
    times_.clear();
    for (Stream& stream : streams_) stream.values.clear();
    taken_ = false;
  }
  const double seconds =
      static_cast<double>(last_ns_ == 0 ? plan_.interval_ns : time_ns - last_ns_) / 1e9;
  last_ns_ = time_ns;
  times_.push_back(time_ns);
  ++tick_;
  leaked_ = 0;
  for (double bytes : mood.leaked_bytes) leaked_ += bytes;
  SampleSystem(seconds, mood, &streams_[0].values);
  SampleCores(seconds, mood, &streams_[1].values);
  SampleGpus(seconds, mood, &streams_[2].values);
  SampleProcesses(seconds, mood, &streams_[3].values);
}

void NodeSeries::SampleSystem(double seconds, const NodeMood& mood, std::vector<double>* row) {
  const uint64_t bits = Mix(seed_, 0x51, tick_);
  const double total = static_cast<double>(plan_.node_memory_bytes);
  const double work = mood.working ? 1.0 : 0.02;
  const double used =
      Pages(std::min(0.97 * total, 0.12 * total + leaked_ +
                                       kRankBytes * static_cast<double>(mood.ranks.size()) *
                                           (1 + 0.01 * Bell(bits))));
  const double cached = Pages(std::min(total - used, 0.3 * total));
  const double free = total - used - cached;
  const double head[] = {used, free, cached, 1.5 * kGibi, total, used / total};
  row->insert(row->end(), std::begin(head), std::end(head));
  const double bytes = std::floor(seconds * work * 2.4e9 * (1 + 0.05 * Bell(Mix(bits, 1))));
  network_[0] += bytes;
  network_[1] += std::floor(bytes * 0.98);
  network_[2] += std::floor(bytes / 4096);
  network_[3] += std::floor(bytes / 4180);
  row->insert(row->end(), network_.begin(), network_.end());
  const double blocks = std::floor(seconds * work * 3000 * (1 + 0.2 * Uniform(Mix(bits, 2))));
  disk_[0] += blocks * 131072;
  disk_[1] += std::floor(blocks / 50) * 4096;
  disk_[2] += blocks;
  disk_[3] += std::floor(blocks / 50);
  disk_[4] = std::round((disk_[4] + seconds * work * 0.2) * 1000) / 1000;
  row->insert(row->end(), disk_.begin(), disk_.end());
  const double waits[] = {0.004, 0, 0.006, 0.002, 0, 0};
  for (size_t i = 0; i < pressure_.size(); ++i) {
    pressure_[i] += std::round(waits[i] * seconds * work * 1e6 * Uniform(Mix(bits, 3 + i))) / 1e6;
    row->push_back(pressure_[i]);
  }
  double runs = 0.5;
  for (const Core& core : cores_) runs += core.busy * work;
  load_ = load_ == 0 ? runs : load_ + (runs - load_) * std::min(1.0, seconds / 60);
  row->push_back(std::round(load_ * 100) / 100);
  tcp_sent_ += std::floor(bytes / 8192);
  row->push_back(tcp_sent_);
  row->push_back(std::floor(tcp_sent_ * 1e-6));
}

void NodeSeries::SampleCores(double seconds, const NodeMood& mood, std::vector<double>* row) {
  const auto jiffies = static_cast<uint64_t>(std::max(1.0, std::round(seconds * 100)));
  const double each = static_cast<double>(jiffies);
  const size_t before = row->size();
  row->resize(before + cores_.size() * 16);
  double* out = row->data() + before;
  for (Core& core : cores_) {
    const uint64_t bits = Mix(core.seed ^ tick_ * 0x9e3779b97f4a7c15ULL);
    const double busy = (mood.working ? core.busy : core.busy * 0.2) *
                        (0.7 + 0.6 * static_cast<double>(bits & 0xffff) / 65536.0);
    uint64_t spent[8] = {};
    spent[0] = std::min(jiffies, static_cast<uint64_t>(busy * each + 0.5));
    const uint64_t rest = jiffies - spent[0];
    spent[2] = std::min<uint64_t>(rest, (bits >> 16 & 0xff) < 60 ? 1 + (spent[0] >> 4) : 0);
    spent[4] = std::min<uint64_t>(rest - spent[2], (bits >> 24 & 0xff) < 4 ? 1 : 0);
    spent[6] = std::min<uint64_t>(rest - spent[2] - spent[4], (bits >> 32 & 0xff) < 12 ? 1 : 0);
    spent[3] = rest - spent[2] - spent[4] - spent[6];
    for (size_t m = 0; m < 8; ++m) {
      out[m] = static_cast<double>(spent[m]) / each;
      core.jiffies[m] += spent[m];
      out[8 + m] = static_cast<double>(core.jiffies[m]) / 100;
    }
    out += 16;
  }
}

void NodeSeries::SampleGpus(double seconds, const NodeMood& mood, std::vector<double>* row) {
  if (mood.lost_gpu != lost_gpu_) {
    // All rows in a batch share one schema. Earlier rows therefore get a missing value for the new
    // column.
    const size_t old_width = streams_[2].schema->series.size();
    const size_t rows = old_width == 0 ? 0 : row->size() / old_width;
    lost_gpu_ = mood.lost_gpu;
    DescribeGpus();
    const size_t at = static_cast<size_t>(lost_gpu_ + 1) * (kGpuColumns + 1);
    if (lost_gpu_ >= 0) {
      for (size_t r = 0; r < rows; ++r)
        row->insert(row->begin() + static_cast<ptrdiff_t>(r * (old_width + 1) + at),
                    MissingValue());
    }
  }
  for (int64_t g = 0; g < plan_.gpus; ++g) {
    const auto index = static_cast<size_t>(g);
    const size_t at = row->size();
    row->resize(at + kGpuColumns);
    double* out = row->data() + at;
    for (size_t i = 0; i < kGpuColumns; ++i) out[i] = kGpuRows[i].value;
    const uint64_t bits = Mix(seed_, 0x60 + index, tick_);
    const double percent = mood.working ? 93 + static_cast<double>(bits % 8) : 100;
    const double watts = mood.working ? 610 + 30 * Bell(Mix(bits)) : 190 + 4 * Bell(Mix(bits));
    out[kUtilization] = percent * 0.01;
    out[kPower] = std::round(watts * 1000) / 1000;
    out[kTemperature] = std::round(mood.working ? 61 + Bell(bits) : 42 + 0.5 * Bell(bits));
    out[kGpm] = mood.working ? 0.82 + 0.03 * Bell(Mix(bits, 1)) : 0.06;
    out[kGpm + 1] = mood.working ? 0.48 + 0.03 * Bell(Mix(bits, 2)) : 0;
    out[kGpm + 2] = mood.working ? 0.39 + 0.02 * Bell(Mix(bits, 3)) : 0;
    energy_[index] = std::round((energy_[index] + watts * seconds) * 1000) / 1000;
    out[kEnergy] = energy_[index];
    out[kMemoryTemperature] = out[kTemperature] + 12;
    out[kMargin] = 87 - out[kTemperature];
    out[kPcie] = std::floor(mood.working ? 2e9 + 1e8 * Bell(Mix(bits, 4)) : 1e6);
    out[kPcie + 1] = std::floor(mood.working ? 9e9 + 4e8 * Bell(Mix(bits, 5)) : 1e6);
    nvlink_[index] += std::floor(mood.working ? seconds * 1.6e11 * (1 + 0.1 * Uniform(bits)) : 0);
    out[kNvlink] = out[kNvlink + 1] = nvlink_[index];
    if (g == lost_gpu_) std::fill(out, out + kGpuColumns, MissingValue());
    row->push_back(1);  // value of gpu_xid_watch_state
    if (g == lost_gpu_) row->push_back(1);
  }
}

void NodeSeries::SampleProcesses(double seconds, const NodeMood& mood, std::vector<double>* row) {
  if (!std::equal(mood.ranks.begin(), mood.ranks.end(), ranks_.begin(), ranks_.end())) {
    row->clear();  // the existing rows belong to the previous set of ranks
    ranks_.assign(mood.ranks.begin(), mood.ranks.end());
    cpu_seconds_.assign(ranks_.size(), 40);
    DescribeProcesses();
    row->resize((times_.size() - 1) * 2 * ranks_.size(), MissingValue());
  }
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const uint64_t bits = Mix(seed_, 0x9000 + static_cast<uint64_t>(ranks_[i]), tick_);
    // A training rank uses more than one core. A hanging rank is almost idle.
    const double share = mood.working ? 1.1 + 0.03 * Bell(bits) : 0.02;
    cpu_seconds_[i] = std::round((cpu_seconds_[i] + seconds * share) * 100) / 100;
    row->push_back(cpu_seconds_[i]);
    row->push_back(Pages(kRankBytes * (1 + 0.002 * Bell(Mix(bits))) + mood.leaked_bytes[i]));
  }
}

void NodeSeries::AppendTo(bool repeat, Batch* batch) {
  cells_ = 0;
  taken_ = true;
  if (times_.empty()) return;
  for (Stream& stream : streams_) {
    if (stream.schema->series.empty() && stream.announced == 0) continue;
    if (repeat || stream.announced != stream.schema->id) batch->schemas.push_back(stream.schema);
    stream.announced = stream.schema->id;
    Frame frame;
    frame.schema_id = stream.schema->id;
    frame.times_ns = times_;
    frame.values = stream.values;
    cells_ += stream.values.size();
    batch->frames.push_back(frame);
  }
}

}  // namespace pitwall::loadgen
