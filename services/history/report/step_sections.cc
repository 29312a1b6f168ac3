// Report sections on step times and outliers.
#include <cmath>
#include <map>
#include <set>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

constexpr double kOutlier = 2;  // multiple of the median
constexpr size_t kBins = 25;

// Counts values in equal bins up to twice the median, and larger values in one extra bin.
BarChart Histogram(std::string id, std::string caption, const std::vector<double>& values) {
  BarChart chart{std::move(id), std::move(caption), Unit::kCount, false, {}};
  const double low = *std::min_element(values.begin(), values.end());
  const double high =
      std::min(*std::max_element(values.begin(), values.end()), kOutlier * MedianOf(values));
  const double width = (high - low) / kBins;
  if (!(width > 0)) return chart;
  std::vector<size_t> counts(kBins + 1);
  for (const double value : values) {
    const size_t bin = value > high ? kBins : static_cast<size_t>((value - low) / width);
    ++counts[value > high ? kBins : std::min(bin, kBins - 1)];
  }
  const auto shown = [](double seconds) { return Shown(Cell(seconds), Unit::kSeconds); };
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i == kBins && counts[i] == 0) continue;
    const double from = low + width * static_cast<double>(i);
    chart.bars.push_back(
        {i == kBins ? Cat("above ", shown(high)) : Cat(shown(from), " to ", shown(from + width)),
         static_cast<double>(counts[i])});
  }
  return chart;
}

LineChart Course(const ReportContext& context) {
  LineChart chart{"step-course",
                  "Median and maximum step duration over the ranks",
                  Unit::kStep,
                  Unit::kSeconds,
                  {{"median of ranks", {}, {}}, {"slowest rank", {}, {}}},
                  {},
                  {}};
  const auto width = std::max<int64_t>(
      1, (context.to_step - context.from_step + int64_t{kMaxPoints} - 1) / int64_t{kMaxPoints});
  for (size_t begin = 0; begin < context.steps.size();) {
    const int64_t bucket = (context.steps[begin].step - context.from_step) / width;
    std::vector<double> values;
    size_t end = begin;
    while (end < context.steps.size() &&
           (context.steps[end].step - context.from_step) / width == bucket)
      values.push_back(context.steps[end++].duration);
    const int64_t step = context.from_step + bucket * width;
    chart.lines[0].x.push_back(step);
    chart.lines[1].x.push_back(step);
    chart.lines[1].y.push_back(*std::max_element(values.begin(), values.end()));
    chart.lines[0].y.push_back(MedianOf(std::move(values)));
    begin = end;
  }
  if (width > 1) CatTo(chart.caption, ", ", width, " steps per point");
  return chart;
}

}  // namespace

Status AddSteps(const ReportContext& context, Document* out) {
  if (context.steps.empty()) return OkStatus();
  Section section{"steps", "Step durations", true, {}};
  const std::map<int64_t, std::string> nodes = NodesOfRanks(context.life);
  std::map<std::string, std::vector<double>> by_node;
  std::map<int64_t, std::vector<double>> by_rank;
  std::vector<double> all;
  std::set<int64_t> steps;
  for (const StepRow& row : context.steps) {
    const auto node = nodes.find(row.rank);
    by_node[node == nodes.end() ? "" : node->second].push_back(row.duration);
    by_rank[row.rank].push_back(row.duration);
    all.push_back(row.duration);
    steps.insert(row.step);
  }
  const double median = MedianOf(all);
  const double limit = kOutlier * median;
  const auto outliers = static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [&](double d) { return d > limit; }));
  AddText(&section, "steps-text",
          Cat("The median of ", Counted(steps.size(), "training step"), " (", context.from_step,
              " to ", context.to_step - 1, ") on ", Counted(by_rank.size(), "rank"), " is ",
              Shown(Cell(median), Unit::kSeconds),
              ". Outliers (values longer than twice the median): ", outliers, "."),
          outliers > 0 ? Paragraph::Tone::kNote : Paragraph::Tone::kPlain);
  Table table{"step-nodes",
              "Durations by node",
              {{"node", "Node", Unit::kText},
               {"count", "Values", Unit::kCount},
               {"mean_seconds", "Mean", Unit::kSeconds},
               {"max_seconds", "Max", Unit::kSeconds},
               {"p99_seconds", "p99", Unit::kSeconds},
               {"p95_seconds", "p95", Unit::kSeconds},
               {"p50_seconds", "p50", Unit::kSeconds},
               {"min_seconds", "Min", Unit::kSeconds},
               {"outliers", "Outliers", Unit::kCount}},
              {},
              {},
              0};
  for (auto& [node, values] : by_node) {
    std::sort(values.begin(), values.end());
    const auto beyond = values.end() - std::upper_bound(values.begin(), values.end(), limit);
    table.rows.push_back({node, CountCell(values.size()), MeanOf(values), values.back(),
                          QuantileOf(values, 0.99), QuantileOf(values, 0.95),
                          QuantileOf(values, 0.5), values.front(),
                          CountCell(static_cast<uint64_t>(beyond))});
  }
  CutRows(&table);
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(Course(context));
  section.blocks.push_back(
      Histogram("step-histogram", "Number of steps by duration, over all ranks", all));
  // The chart shows the ranks with the longest steps.
  BoxChart boxes{"step-ranks", "Durations by rank, longest median first", Unit::kSeconds, {}};
  for (auto& [rank, values] : by_rank)
    boxes.boxes.push_back(BoxOf(Cat("rank ", rank), std::move(values)));
  std::stable_sort(boxes.boxes.begin(), boxes.boxes.end(),
                   [](const Box& a, const Box& b) { return a.p50 > b.p50; });
  if (boxes.boxes.size() > kMaxBoxes) {
    CatTo(boxes.caption, "; ", boxes.boxes.size() - kMaxBoxes, " more not shown");
    boxes.boxes.resize(kMaxBoxes);
  }
  section.blocks.push_back(std::move(boxes));
  if (outliers > 0) {
    std::vector<StepRow> longest = context.steps;
    std::stable_sort(longest.begin(), longest.end(),
                     [](const StepRow& a, const StepRow& b) { return a.duration > b.duration; });
    Table worst{"step-outliers",
                "The longest steps",
                {{"step", "Step", Unit::kStep},
                 {"rank", "Rank", Unit::kCount},
                 {"start_ns", "Start", Unit::kTime},
                 {"seconds", "Duration", Unit::kSeconds},
                 {"times", "Ratio to the median", Unit::kNumber}},
                {},
                {},
                outliers > 10 ? outliers - 10 : 0};
    for (const StepRow& row : longest) {
      if (row.duration <= limit || worst.rows.size() == 10) break;
      worst.rows.push_back(
          {row.step, IndexCell(row.rank), row.start_ns, row.duration, row.duration / median});
    }
    section.blocks.push_back(std::move(worst));
  }
  out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
