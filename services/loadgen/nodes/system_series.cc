#include "services/loadgen/nodes/system_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "services/loadgen/noise.h"

namespace pitwall::loadgen {
namespace {

constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;
constexpr double kGibi = 1024.0 * 1024 * 1024;

}  // namespace

SystemSeries::SystemSeries(int64_t memory_bytes, uint64_t seed, const std::string& node)
    : stream_(1, node), memory_bytes_(memory_bytes), seed_(seed) {
  network_ = {4e12, 5e12, 3e9, 4e9, 0, 0, 12, 0};
  disk_ = {2e12, 9e11, 4e7, 2e7, 3e5};
  pressure_ = {120, 0, 60, 20, 0.5, 0.1};
  tcp_sent_ = 6e9;
  Describe();
}

void SystemSeries::Describe() {
  std::vector<SeriesDescriptor> system;
  for (const char* state : {"used", "free", "cached", "buffers"})
    system.push_back(stream_.Series(kGauge, "system_memory_usage_bytes", {{"state", state}}));
  system.push_back(stream_.Series(kGauge, "system_memory_limit_bytes", {}));
  system.push_back(stream_.Series(kGauge, "system_memory_utilization_ratio", {}));
  for (const char* name : {"system_network_io_bytes_total", "system_network_packets_total",
                           "system_network_errors_total", "system_network_dropped_total"}) {
    for (const char* direction : {"receive", "transmit"})
      system.push_back(
          stream_.Series(kCounter, name, {{"device", "eth0"}, {"direction", direction}}));
  }
  for (const char* name : {"system_disk_io_bytes_total", "system_disk_operations_total"}) {
    for (const char* direction : {"read", "write"})
      system.push_back(
          stream_.Series(kCounter, name, {{"device", "nvme0n1"}, {"direction", direction}}));
  }
  system.push_back(
      stream_.Series(kCounter, "system_disk_io_time_seconds_total", {{"device", "nvme0n1"}}));
  for (const char* resource : {"cpu", "io", "memory"}) {
    for (const char* kind : {"some", "full"})
      system.push_back(stream_.Series(kCounter, "system_pressure_stall_seconds_total",
                                      {{"resource", resource}, {"kind", kind}}));
  }
  system.push_back(stream_.Series(kGauge, "system_load_average_1m", {}));
  system.push_back(stream_.Series(kCounter, "system_network_tcp_segments_sent_total", {}));
  system.push_back(stream_.Series(kCounter, "system_network_tcp_segments_retransmitted_total", {}));
  stream_.SetSchema(std::move(system));
}

void SystemSeries::Sample(const NodeTick& tick, const NodeMood& mood, const CoreSeries& cores) {
  std::vector<double>& row = stream_.values();
  const double seconds = tick.seconds;
  double leaked = 0;
  for (double bytes : mood.leaked_bytes) leaked += bytes;
  const uint64_t bits = Mix(seed_, 0x51, tick.number);
  const double total = static_cast<double>(memory_bytes_);
  const double work = mood.working ? 1.0 : 0.02;
  const double used =
      Pages(std::min(0.97 * total, 0.12 * total + leaked +
                                       kRankBytes * static_cast<double>(mood.ranks.size()) *
                                           (1 + 0.01 * Bell(bits))));
  const double cached = Pages(std::min(total - used, 0.3 * total));
  const double free = total - used - cached;
  const double head[] = {used, free, cached, 1.5 * kGibi, total, used / total};
  row.insert(row.end(), std::begin(head), std::end(head));
  const double bytes = std::floor(seconds * work * 2.4e9 * (1 + 0.05 * Bell(Mix(bits, 1))));
  network_[0] += bytes;
  network_[1] += std::floor(bytes * 0.98);
  network_[2] += std::floor(bytes / 4096);
  network_[3] += std::floor(bytes / 4180);
  row.insert(row.end(), network_.begin(), network_.end());
  const double blocks = std::floor(seconds * work * 3000 * (1 + 0.2 * Uniform(Mix(bits, 2))));
  disk_[0] += blocks * 131072;
  disk_[1] += std::floor(blocks / 50) * 4096;
  disk_[2] += blocks;
  disk_[3] += std::floor(blocks / 50);
  disk_[4] = std::round((disk_[4] + seconds * work * 0.2) * 1000) / 1000;
  row.insert(row.end(), disk_.begin(), disk_.end());
  const double waits[] = {0.004, 0, 0.006, 0.002, 0, 0};
  for (size_t i = 0; i < pressure_.size(); ++i) {
    pressure_[i] += std::round(waits[i] * seconds * work * 1e6 * Uniform(Mix(bits, 3 + i))) / 1e6;
    row.push_back(pressure_[i]);
  }
  const double runs = cores.RunnableThreads(work);
  load_ = load_ == 0 ? runs : load_ + (runs - load_) * std::min(1.0, seconds / 60);
  row.push_back(std::round(load_ * 100) / 100);
  tcp_sent_ += std::floor(bytes / 8192);
  row.push_back(tcp_sent_);
  row.push_back(std::floor(tcp_sent_ * 1e-6));
}

}  // namespace pitwall::loadgen
