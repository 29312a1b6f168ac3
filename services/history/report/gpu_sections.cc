// Report sections on GPUs: balance, memory, and waits for CPU or I/O.
#include <cmath>
#include <map>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/steps/selectors.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

constexpr double kLow = 0.7;   // a lower GPU utilization counts as low
constexpr double kBusy = 0.9;  // a higher CPU utilization counts as busy
constexpr double kWait = 0.5;  // a higher I/O wait share counts as I/O wait
constexpr size_t kBins = 10;
using Shares = std::array<double, kBins>;

Shares SharesOf(const std::vector<double>& ratios) {
  Shares out{};
  for (const double ratio : ratios) {
    const auto bin = static_cast<size_t>(std::clamp(ratio, 0.0, 0.9999) * kBins);
    out[bin] += 1 / static_cast<double>(ratios.size());
  }
  return out;
}

// Returns half the sum of the absolute differences: 0 for equal shares, 1 for disjoint shares.
double Distance(const Shares& a, const Shares& b) {
  double sum = 0;
  for (size_t i = 0; i < kBins; ++i) sum += std::fabs(a[i] - b[i]);
  return sum / 2;
}

void AddBoxes(const Readings& readings, std::string id, std::string caption, Unit unit,
              bool low_first, Section* section) {
  BoxChart chart{std::move(id), std::move(caption), unit, {}};
  for (const Reading& reading : readings.series)
    chart.boxes.push_back(BoxOf(DeviceName(reading.labels), reading.values));
  std::stable_sort(chart.boxes.begin(), chart.boxes.end(), [&](const Box& a, const Box& b) {
    return low_first ? a.p50 < b.p50 : a.p95 > b.p95;
  });
  if (chart.boxes.size() > kMaxBoxes) {
    CatTo(chart.caption, "; ", chart.boxes.size() - kMaxBoxes, " more not shown");
    chart.boxes.resize(kMaxBoxes);
  }
  section->blocks.push_back(std::move(chart));
}

void AddBalance(const Readings& gpus, Section* section) {
  if (gpus.series.size() < 2) return;
  std::vector<double> pooled;
  for (const Reading& reading : gpus.series)
    pooled.insert(pooled.end(), reading.values.begin(), reading.values.end());
  const Shares whole = SharesOf(pooled);
  Table table{
      "balance",
      "Distance between the utilization histogram (ten bins) of each GPU and that of all GPUs, "
      "from 0 (identical) to 1 (disjoint)",
      {{"gpu", "GPU", Unit::kText},
       {"distance", "Distance", Unit::kNumber},
       {"mean", "Mean utilization", Unit::kRatio},
       {"p5", "p5", Unit::kRatio},
       {"p95", "p95", Unit::kRatio}},
      {},
      {},
      0};
  for (const Reading& reading : gpus.series) {
    const Box box = BoxOf("", reading.values);
    table.rows.push_back({DeviceName(reading.labels), Distance(SharesOf(reading.values), whole),
                          MeanOf(reading.values), box.p5, box.p95});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) {
    return std::get<double>(a[1]) > std::get<double>(b[1]);
  });
  const double worst = std::get<double>(table.rows[0][1]);
  AddText(section, "balance-text",
          worst > 0.5
              ? Cat("The load is uneven. The utilization of ",
                    std::get<std::string>(table.rows[0][0]), " differs from that of all GPUs.")
              : "The load is balanced across the GPUs.",
          worst > 0.5 ? Paragraph::Tone::kNote : Paragraph::Tone::kGood);
  CutRows(&table, kMaxBoxes);
  section->blocks.push_back(std::move(table));
}

// Means for a node over a common interval.
struct Moment {
  double gpu = 0, idle = 0, wait = 0;
  size_t gpus = 0, cores = 0;
};

}  // namespace

Status AddGpus(const ReportContext& context, Document* out) {
  ASSIGN_OR_RETURN(const Readings gpus,
                   ReadMeans(context, {SelectorOfMetric("hw_gpu_utilization_ratio")}));
  if (gpus.series.empty()) return OkStatus();
  Section section{"gpus", "GPU utilization and workload balance", true, {}};
  AddText(
      &section, "gpu-basis",
      Cat("Based on ", gpus.basis,
          ". Utilization is the share of time in which a kernel ran, not the load of the GPU."));
  AddBoxes(gpus, "gpu-utilization", "Utilization by GPU, lowest median first", Unit::kRatio, true,
           &section);
  AddBalance(gpus, &section);
  ASSIGN_OR_RETURN(const Readings memory,
                   ReadMeans(context, {SelectorOfMetric("hw_gpu_memory_usage_bytes")}));
  if (!memory.series.empty()) {
    AddBoxes(memory, "gpu-memory", "Memory in use by GPU, highest first", Unit::kBytes, false,
             &section);
    ASSIGN_OR_RETURN(const Readings limits,
                     ReadMeans(context, {SelectorOfMetric("hw_gpu_memory_limit_bytes")}));
    std::map<std::string, double> limit;
    for (const Reading& reading : limits.series)
      limit[DeviceName(reading.labels)] = reading.values.back();
    double fullest = 0;
    for (const Reading& reading : memory.series) {
      const auto of = limit.find(DeviceName(reading.labels));
      if (of != limit.end() && of->second > 0)
        fullest = std::max(fullest, BoxOf("", reading.values).p95 / of->second);
    }
    if (fullest > 0)
      AddText(&section, "gpu-memory-text",
              Cat("The fullest GPU uses ", Shown(Cell(fullest), Unit::kRatio),
                  " of its memory (p95).", fullest < 0.5 ? " A larger batch may fit." : ""),
              fullest > 0.95 ? Paragraph::Tone::kNote : Paragraph::Tone::kPlain);
  }
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddBottlenecks(const ReportContext& context, Document* out) {
  Selector cpu = SelectorOfMetric("system_cpu_utilization_ratio");
  cpu.matchers.push_back(*Matcher::Make("mode", MatchOp::kRegex, "idle|iowait"));
  const int64_t length = context.whole().to_ns - context.whole().from_ns;
  const size_t tier = length > int64_t{48} * 3600 * kNanosPerSecond ? 2
                      : length > int64_t{3600} * kNanosPerSecond    ? 1
                                                                    : 0;
  std::map<std::pair<std::string, int64_t>, Moment> moments;
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> gpus,
                   context.history().Rollups(
                       context.Query({SelectorOfMetric("hw_gpu_utilization_ratio")}), tier));
  if (gpus.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> cores,
                   context.history().Rollups(context.Query({std::move(cpu)}), tier));
  if (cores.empty()) return OkStatus();
  const auto each = [&](const std::vector<RollupColumn>& columns, auto add) {
    for (const RollupColumn& column : columns) {
      const std::string node(column.labels.Get("node"));
      for (const RollupRow& row : column.rows) {
        const double mean = row.sum / row.count;
        if (std::isfinite(mean)) add(column, mean, &moments[{node, row.start_ns}]);
      }
    }
  };
  each(gpus, [](const RollupColumn&, double mean, Moment* moment) {
    moment->gpu += mean;
    ++moment->gpus;
  });
  each(cores, [](const RollupColumn& column, double mean, Moment* moment) {
    const bool idle = column.labels.Get("mode") == "idle";
    (idle ? moment->idle : moment->wait) += mean;
    moment->cores += idle ? 1 : 0;
  });
  uint64_t all = 0, high = 0, by_cpu = 0, by_io = 0;
  for (const auto& [key, moment] : moments) {
    if (moment.gpus == 0 || moment.cores == 0) continue;
    ++all;
    const auto n = static_cast<double>(moment.cores);
    const double busy = 1 - (moment.idle + moment.wait) / n;
    if (moment.gpu / static_cast<double>(moment.gpus) >= kLow) {
      ++high;
    } else if (moment.wait / n > kWait) {
      ++by_io;
    } else if (busy > kBusy) {
      ++by_cpu;
    }
  }
  if (all == 0) return OkStatus();
  Section section{"bottlenecks", "CPU and I/O bottlenecks", true, {}};
  const auto share = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(all);
  };
  const double cpu_share = share(by_cpu), io_share = share(by_io);
  constexpr std::string_view kNames[] = {"10 s", "2 min", "30 min"};
  AddText(
      &section, "bottlenecks-text",
      Cat("Of ", all, " node intervals of ", kNames[tier], ", GPUs are below ",
          Shown(Cell(kLow), Unit::kRatio), " with the CPU above ", Shown(Cell(kBusy), Unit::kRatio),
          " in ", Shown(Cell(cpu_share), Unit::kRatio), ", and with I/O wait above ",
          Shown(Cell(kWait), Unit::kRatio), " in ", Shown(Cell(io_share), Unit::kRatio), "."),
      cpu_share + io_share > 0.25 ? Paragraph::Tone::kBad : Paragraph::Tone::kPlain);
  section.blocks.push_back(
      BarChart{"bottleneck-shares",
               "GPU time by bottleneck",
               Unit::kRatio,
               true,
               {{"GPU well used", share(high)},
                {"GPU low, CPU busy", cpu_share},
                {"GPU low, I/O wait", io_share},
                {"GPU low, other cause", share(all - high - by_cpu - by_io)}}});
  out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
