#include "services/history/views/resource_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "services/history/views/steps/buckets.h"
#include "services/history/views/steps/selectors.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kCpu = "system_cpu_utilization_ratio";
constexpr std::string_view kNetwork = "system_network_io_bytes_total";
constexpr std::array<double, 4> kQuantiles = {0.5, 0.9, 0.95, 0.99};
// Longer ranges use 2-minute rows, because 10-second rows must be computed from the samples of each
// window.
constexpr int64_t kLongNs = int64_t{30} * 60 * kNanosPerSecond;

struct FromSamples {
  std::string_view resource, metric, unit;
};
constexpr std::string_view kNodeCpu = "node_cpu_utilization_mean_ratio";
constexpr std::array<FromSamples, 5> kFromSamples = {
    {{"cpu", kNodeCpu, "ratio"},  // derived by the history from per-core rows
     {"io_wait", "node_cpu_iowait_mean_ratio", "ratio"},
     {"cpu_memory", "system_memory_utilization_ratio", "ratio"},
     {"gpu", "hw_gpu_utilization_ratio", "ratio"},
     {"gpu_memory", "hw_gpu_memory_usage_bytes", "bytes"}}};

using Resource = std::pair<std::string, std::string>;  // (node, resource name)
struct Made {
  std::string metric, unit;
  std::map<int64_t, double> by_time;
};

// Sums of mean idle and I/O wait ratios over a node's cores, and the number of cores.
struct CoreSum {
  double idle = 0, wait = 0;
  size_t cores = 0;  // number of cores with idle time
};

void AddCpu(const std::vector<RollupColumn>& columns, std::map<Resource, Made>* out) {
  std::map<std::string, std::map<int64_t, CoreSum>> nodes;
  for (const RollupColumn& column : columns) {
    const bool idle = column.labels.Get("mode") == "idle";
    auto& node = nodes[std::string(column.labels.Get("node"))];
    for (const RollupRow& row : column.rows) {
      const double mean = row.sum / row.count;
      if (std::isnan(mean)) continue;
      CoreSum& sum = node[row.start_ns];
      (idle ? sum.idle : sum.wait) += mean;
      sum.cores += idle ? 1 : 0;
    }
  }
  for (const auto& [node, times] : nodes) {
    for (const auto& [time_ns, sum] : times) {
      if (sum.cores == 0) continue;
      const auto cores = static_cast<double>(sum.cores);
      Made& busy = (*out)[{node, "cpu"}];
      busy.by_time[time_ns] = std::max(0.0, 1 - (sum.idle + sum.wait) / cores);
      Made& wait = (*out)[{node, "io_wait"}];
      wait.by_time[time_ns] = sum.wait / cores;
      busy.metric = wait.metric = kCpu;
      busy.unit = wait.unit = "ratio";
    }
  }
}

// Adds the bytes per second between the last values of adjacent rows. After a counter reset, the
// new value is the increase.
void AddNetwork(const std::vector<RollupColumn>& columns, std::map<Resource, Made>* out) {
  for (const RollupColumn& column : columns) {
    if (column.labels.Get("device") == "lo") continue;
    Made& made = (*out)[{std::string(column.labels.Get("node")),
                         "network_" + std::string(column.labels.Get("direction"))}];
    made.metric = kNetwork;
    made.unit = "bytes_per_second";
    for (size_t i = 1; i < column.rows.size(); ++i) {
      const RollupRow &before = column.rows[i - 1], &row = column.rows[i];
      const double grown = row.last >= before.last ? row.last - before.last : row.last;
      const double seconds = static_cast<double>(row.start_ns - before.start_ns) / 1e9;
      if (std::isfinite(grown)) made.by_time[row.start_ns] += grown / seconds;
    }
  }
}

// Returns whether any node lacks derived CPU series, as in windows sealed before derived series
// existed.
bool SomeNodeIsNotIn(const std::set<std::string>& sampled, const JobOverview& job) {
  return sampled.empty() ||
         std::any_of(job.sources.begin(), job.sources.end(), [&](const auto& one) {
           return !one.second.node.empty() && !sampled.contains(one.second.node);
         });
}

ResourceRow RowOf(const Resource& resource, const Made& made, std::string_view basis) {
  std::vector<double> values;
  for (const auto& [time_ns, value] : made.by_time) values.push_back(value);
  std::sort(values.begin(), values.end());
  ResourceRow row;
  std::tie(row.node, row.resource) = resource;
  row.metric = made.metric;
  row.unit = made.unit;
  row.basis = basis;
  row.count = values.size();
  row.min = values.front();
  row.max = values.back();
  row.mean = MeanOf(values);
  row.p50 = QuantileOf(values, kQuantiles[0]);
  row.p90 = QuantileOf(values, kQuantiles[1]);
  row.p95 = QuantileOf(values, kQuantiles[2]);
  row.p99 = QuantileOf(values, kQuantiles[3]);
  return row;
}

}  // namespace

StatusOr<std::vector<ResourceRow>> MakeResourceTable(const History& history, const JobOverview& job,
                                                     TimeRange range, const ReadLimits& limits) {
  SeriesQuery query = {job.id, {}, range, limits};
  // For a whole job, the range is extended to whole windows, which can be read without samples.
  if (range.from_ns <= job.first_ns) query.range.from_ns = kMinPosition;
  if (range.to_ns > job.last_ns) query.range.to_ns = kMaxPosition;
  for (const FromSamples& from : kFromSamples)
    query.selectors.push_back(SelectorOfMetric(from.metric));
  ASSIGN_OR_RETURN(const std::vector<QuantileRow> quantiles, history.Quantiles(query, kQuantiles));
  std::vector<ResourceRow> out;
  std::set<std::string> sampled;  // nodes with CPU usage computed from samples
  for (const QuantileRow& q : quantiles) {
    const auto from = std::find_if(kFromSamples.begin(), kFromSamples.end(),
                                   [&](const FromSamples& f) { return f.metric == q.metric; });
    if (from == kFromSamples.end()) continue;
    if (q.metric == kNodeCpu) sampled.insert(q.node);
    out.push_back({q.node, std::string(from->resource), q.metric, std::string(from->unit),
                   "samples", q.count, q.min, q.max, q.mean, q.quantiles[0], q.quantiles[1],
                   q.quantiles[2], q.quantiles[3]});
  }
  const int64_t from_ns = std::max(range.from_ns, job.first_ns);
  const int64_t to_ns = std::min(range.to_ns, job.last_ns);
  const size_t tier = to_ns - from_ns > kLongNs ? 1 : 0;
  std::map<Resource, Made> made;
  if (SomeNodeIsNotIn(sampled, job)) {
    Selector cpu = SelectorOfMetric(kCpu);
    cpu.matchers.push_back(*Matcher::Make("mode", MatchOp::kRegex, "idle|iowait"));
    query.selectors = {std::move(cpu)};
    ASSIGN_OR_RETURN(const std::vector<RollupColumn> cores, history.Rollups(query, tier));
    AddCpu(cores, &made);
    std::erase_if(made, [&](const auto& one) { return sampled.contains(one.first.first); });
  }
  query.selectors = {SelectorOfMetric(kNetwork)};
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> devices, history.Rollups(query, tier));
  AddNetwork(devices, &made);
  for (const auto& [resource, values] : made) {
    if (!values.by_time.empty()) out.push_back(RowOf(resource, values, TierName(tier)));
  }
  std::sort(out.begin(), out.end(), [](const ResourceRow& a, const ResourceRow& b) {
    return std::tie(a.node, a.resource) < std::tie(b.node, b.resource);
  });
  return out;
}

}  // namespace pitwall::history
