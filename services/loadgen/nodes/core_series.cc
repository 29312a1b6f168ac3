#include "services/loadgen/nodes/core_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"
#include "services/loadgen/noise.h"

namespace pitwall::loadgen {
namespace {

constexpr std::array<std::string_view, 8> kModes = {"user",   "nice", "system",  "idle",
                                                    "iowait", "irq",  "softirq", "steal"};

}  // namespace

CoreSeries::CoreSeries(int64_t cores, uint64_t seed, const std::string& node) : stream_(2, node) {
  cores_.resize(static_cast<size_t>(cores));
  for (size_t i = 0; i < cores_.size(); ++i) {
    cores_[i].seed = Mix(seed, 0xc0, i);
    // Ten percent of the cores feed data to the GPUs. The other cores are mostly idle.
    const double u = Uniform(cores_[i].seed);
    cores_[i].busy = u < 0.1 ? 0.55 + 0.3 * Uniform(Mix(cores_[i].seed)) : 0.3 * u * u;
    for (size_t m = 0; m < 8; ++m)
      cores_[i].jiffies[m] = Mix(cores_[i].seed, m) % (m == 3 ? 40'000'000 : 90'000);
  }
  Describe();
}

void CoreSeries::Describe() {
  std::vector<SeriesDescriptor> cores;
  for (size_t i = 0; i < cores_.size(); ++i) {
    for (std::string_view mode : kModes)
      cores.push_back(stream_.Series(SeriesKind::kGauge, "system_cpu_utilization_ratio",
                                     {{"cpu", Cat(i)}, {"mode", std::string(mode)}}));
    for (std::string_view mode : kModes)
      cores.push_back(stream_.Series(SeriesKind::kCounter, "system_cpu_time_seconds_total",
                                     {{"cpu", Cat(i)}, {"mode", std::string(mode)}}));
  }
  stream_.SetSchema(std::move(cores));
}

double CoreSeries::RunnableThreads(double work) const {
  double runs = 0.5;
  for (const Core& core : cores_) runs += core.busy * work;
  return runs;
}

void CoreSeries::Sample(const NodeTick& tick, const NodeMood& mood) {
  std::vector<double>& row = stream_.values();
  const auto jiffies = static_cast<uint64_t>(std::max(1.0, std::round(tick.seconds * 100)));
  const double each = static_cast<double>(jiffies);
  const size_t before = row.size();
  row.resize(before + cores_.size() * 16);
  double* out = row.data() + before;
  for (Core& core : cores_) {
    const uint64_t bits = Mix(core.seed ^ tick.number * 0x9e3779b97f4a7c15ULL);
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

}  // namespace pitwall::loadgen
