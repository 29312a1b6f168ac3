#include "services/history/segments/step_summaries.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "services/base/text/strings.h"
#include "services/history/segments/text_page.h"
#include "services/history/step_times.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

// Maximum number of edge steps at each end of a window. A boundary usually cuts one or two steps,
// or more if ranks do not wait for each other.
constexpr size_t kMaxEdges = 8;
// Maximum number of cells in a table of steps by ranks, far above the size of any real window.
constexpr size_t kMaxCells = size_t{32} << 20;
constexpr std::string_view kWhat = "step summary";

std::string Encode(const StepSummary& summary) {
  BinaryWriter out;
  out.Bool(summary.complete);
  out.I64s(summary.ranks);
  out.I64s(summary.steps);
  out.Str(Planes(summary.medians));
  out.U32s(summary.edges);
  out.Str(Planes(summary.edge_seconds));
  return out.Take();
}

std::string Encode(const StepBlocks& blocks) {
  BinaryWriter out;
  out.I64(blocks.first);
  out.U64(blocks.count);
  out.Str(Planes(blocks.slowdowns));
  return out.Take();
}

// Step times for one window and basis, by rank and step.
struct StepGrid {
  std::vector<int64_t> ranks, steps;
  std::vector<double> seconds;  // by rank, then by step; NaN if unknown
  bool complete = true;
  size_t runs = 0;
};

// Returns the grid, or no value if there are too few steps, if the steps are too scattered, or if
// rows must be joined.
std::optional<StepGrid> GridOf(const std::vector<SampleColumn>& columns, bool own) {
  const std::map<int64_t, RankColumns> ranks = ColumnsByRank(columns);
  StepGrid grid;
  StepTimes times;
  for (const auto& [rank, of_rank] : ranks) {
    if (!times.Read(of_rank, false)) return std::nullopt;
    const RankSteps steps = times.steps(rank);
    if (steps.steps.empty()) continue;
    grid.ranks.push_back(rank);
    grid.runs += steps.steps.size();
    // Most ranks run the same steps, so few steps are added after the first rank.
    if (std::equal(grid.steps.begin(), grid.steps.end(), steps.steps.begin(), steps.steps.end()))
      continue;
    std::vector<int64_t> sorted(steps.steps.begin(), steps.steps.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> both;
    std::set_union(grid.steps.begin(), grid.steps.end(), sorted.begin(), sorted.end(),
                   std::back_inserter(both));
    both.erase(std::unique(both.begin(), both.end()), both.end());
    grid.steps = std::move(both);
  }
  const size_t cells = grid.ranks.size() * grid.steps.size();
  if (grid.runs < kMinSummedRuns || cells > kMaxCells || cells / 4 > grid.runs) return std::nullopt;
  if (own) {
    for (const auto& [rank, of_rank] : ranks) {
      if (!times.Read(of_rank, true)) return std::nullopt;
      const std::span<const double> seconds = times.steps(rank).seconds;
      const auto none = [](double s) { return std::isnan(s); };
      grid.complete = grid.complete && std::none_of(seconds.begin(), seconds.end(), none);
    }
    if (!grid.complete) return grid;
  }
  grid.seconds.assign(cells, NormalNan());
  double* cell = grid.seconds.data();
  for (const auto& [rank, of_rank] : ranks) {
    times.Read(of_rank, own);
    const RankSteps steps = times.steps(rank);
    if (steps.steps.empty()) continue;
    size_t at = 0;
    for (size_t i = 0; i < steps.steps.size(); ++i, ++at) {
      const int64_t step = steps.steps[i];
      if (at >= grid.steps.size() || grid.steps[at] != step) {
        at = static_cast<size_t>(std::lower_bound(grid.steps.begin(), grid.steps.end(), step) -
                                 grid.steps.begin());
      }
      cell[at] = steps.seconds[i];
    }
    cell += grid.steps.size();
  }
  return grid;
}

// Returns the indexes of the edge steps: those before the first and after the last step with the
// most ranks, but at least one and at most kMaxEdges per end.
std::vector<uint32_t> EdgesOf(const std::vector<size_t>& ranks_of_step) {
  const size_t most = *std::max_element(ranks_of_step.begin(), ranks_of_step.end());
  const size_t count = ranks_of_step.size();
  const auto length = [&](auto begin, auto end) {
    const auto full = std::find_if(begin, end, [&](size_t ranks) { return ranks == most; });
    return std::clamp(static_cast<size_t>(full - begin), size_t{1}, std::min(kMaxEdges, count));
  };
  const size_t front = length(ranks_of_step.begin(), ranks_of_step.end());
  const size_t back = std::min(count - front, length(ranks_of_step.rbegin(), ranks_of_step.rend()));
  std::vector<uint32_t> edges;
  for (size_t i = 0; i < count; ++i) {
    if (i < front || i >= count - back) edges.push_back(static_cast<uint32_t>(i));
  }
  return edges;
}

struct Summed {
  StepSummary summary;
  std::array<StepBlocks, kStepBlocks.size()> blocks;
};

// Returns the summary, or no value if a median is not positive or the steps are too scattered for
// blocks.
std::optional<Summed> SumUp(const StepGrid& grid) {
  Summed out;
  out.summary.complete = grid.complete;
  if (!grid.complete) return out;
  const size_t ranks = grid.ranks.size(), steps = grid.steps.size();
  out.summary.ranks = grid.ranks;
  out.summary.steps = grid.steps;
  std::vector<size_t> ranks_of_step(steps, 0);
  std::vector<double> of_step;
  for (size_t s = 0; s < steps; ++s) {
    of_step.clear();
    for (size_t r = 0; r < ranks; ++r) {
      const double seconds = grid.seconds[r * steps + s];
      if (!std::isnan(seconds)) of_step.push_back(seconds);
    }
    ranks_of_step[s] = of_step.size();
    out.summary.medians.push_back(MedianIn(&of_step));
    if (!(out.summary.medians.back() > 0)) return std::nullopt;
  }
  out.summary.edges = EdgesOf(ranks_of_step);
  std::vector<bool> edge(steps, false);
  for (const uint32_t s : out.summary.edges) {
    edge[s] = true;
    for (size_t r = 0; r < ranks; ++r)
      out.summary.edge_seconds.push_back(grid.seconds[r * steps + s]);
  }
  for (size_t level = 0; level < kStepBlocks.size(); ++level) {
    StepBlocks& blocks = out.blocks[level];
    blocks.first = StepBlockOf(grid.steps.front(), kStepBlocks[level]);
    blocks.count =
        static_cast<size_t>(StepBlockOf(grid.steps.back(), kStepBlocks[level]) - blocks.first + 1);
    if (blocks.count > steps) return std::nullopt;
    std::vector<size_t> block_of;
    for (const int64_t step : grid.steps)
      block_of.push_back(static_cast<size_t>(StepBlockOf(step, kStepBlocks[level]) - blocks.first));
    blocks.slowdowns.assign(ranks * blocks.count, NormalNan());
    for (size_t r = 0; r < ranks; ++r) {
      double* const greatest = &blocks.slowdowns[r * blocks.count];
      for (size_t s = 0; s < steps; ++s) {
        const double seconds = grid.seconds[r * steps + s];
        if (edge[s] || std::isnan(seconds)) continue;
        const double slowdown = seconds / out.summary.medians[s];
        double& most = greatest[block_of[s]];
        if (std::isnan(most) || slowdown > most) most = slowdown;
      }
    }
  }
  return out;
}

// Returns the samples of one mode that are needed to compute step times.
std::vector<SampleColumn> ColumnsOf(const SeriesMerger& merger, const SeriesSet& set,
                                    int64_t mode) {
  std::vector<SampleColumn> out;
  const std::vector<uint32_t>& here = merger.series();
  std::vector<bool> has(set.all().size(), false);
  for (const uint32_t series : here) has[series] = true;
  RowFilter filter;
  filter.mode = mode;
  filter.from_step = INT64_MIN;
  for (const uint32_t series : set.InOrder()) {
    if (!has[series]) continue;
    SampleColumn column;
    if (merger.Append(series, filter, &column) == 0) continue;
    column.labels = set.all()[series].labels;
    out.push_back(std::move(column));
  }
  return out;
}

bool OfSteps(const Labels& labels) {
  const std::string_view name = labels.Name();
  return name == kStepDuration || name == kCollectiveTime ||
         (name == kPhaseDuration && labels.Get("phase") == kCollective);
}

}  // namespace

void StepSummaries::Add(const RowTable& rows) {
  for (size_t i = 0; i < rows.steps.size(); ++i) {
    if (rows.steps[i] == kNoStep) continue;
    Extent& extent = extents_[rows.modes[i]];
    extent.least = std::min(extent.least, rows.steps[i]);
    extent.greatest = std::max(extent.greatest, rows.steps[i]);
    ++extent.rows;
  }
  RowTable some;
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    if (!OfSteps(rows.schema->series[rows.columns[i]].labels)) continue;
    some.columns.push_back(rows.columns[i]);
    some.values.push_back(rows.values[i]);
  }
  if (some.columns.empty()) return;
  some.origin = rows.origin;
  some.schema = rows.schema;
  some.times = rows.times;
  some.sequences = rows.sequences;
  some.steps = rows.steps;
  some.modes = rows.modes;
  tables_.push_back(std::move(some));
}

Status StepSummaries::Write(SegmentBuilder* w, SegmentMeta* facts) {
  facts->steps = StepIndex();
  facts->steps.known = true;
  std::vector<std::string> pages;
  SeriesSet set({}, SIZE_MAX);
  const std::vector<RowView> views(tables_.begin(), tables_.end());
  SeriesMerger merger(views, &set);
  RETURN_IF_ERROR(merger.Prepare());
  for (const auto& [mode, extent] : extents_) {
    ModeSteps steps;
    steps.mode = modes_.name(mode);
    steps.least = extent.least;
    steps.greatest = extent.greatest;
    if (extent.rows >= kMinSummedRuns) {
      const std::vector<SampleColumn> columns = ColumnsOf(merger, set, mode);
      std::vector<std::string> of_mode;
      for (const StepBasis basis : kStepBases) {
        const std::optional<StepGrid> grid = GridOf(columns, basis == StepBasis::kOwn);
        const std::optional<Summed> summed = grid.has_value() ? SumUp(*grid) : std::nullopt;
        if (!summed.has_value()) break;
        of_mode.push_back(Encode(summed->summary));
        for (const StepBlocks& blocks : summed->blocks) of_mode.push_back(Encode(blocks));
      }
      steps.summed = of_mode.size() == kStepBases.size() * (1 + kStepBlocks.size());
      if (steps.summed) pages.insert(pages.end(), of_mode.begin(), of_mode.end());
    }
    facts->steps.modes.push_back(std::move(steps));
  }
  BinaryWriter last;
  facts->steps.Save(last);
  pages.push_back(last.Take());
  ASSIGN_OR_RETURN(TextTable table,
                   TextTable::Of(w->out, store::TableKind::kSpans, kStepsTable, facts->window_ns));
  for (const std::string& page : pages) RETURN_IF_ERROR(table.Add(page).status());
  facts->steps.PlacePages(table.table());
  return OkStatus();
}

StatusOr<StepSummaryPtr> ReadStepSummary(const std::string& path, const store::Page& page) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path, page, kWhat));
  BinaryReader in(text);
  auto summary = std::make_shared<StepSummary>();
  summary->complete = in.Bool();
  summary->ranks = in.I64s();
  summary->steps = in.I64s();
  const bool medians = FromPlanes(in.StrView(), &summary->medians);
  summary->edges = in.U32s();
  const bool edges = FromPlanes(in.StrView(), &summary->edge_seconds);
  RETURN_IF_ERROR(in.Finish(path));
  const auto beyond = [&](uint32_t edge) { return edge >= summary->steps.size(); };
  if (!medians || !edges || summary->medians.size() != summary->steps.size() ||
      summary->edge_seconds.size() != summary->edges.size() * summary->ranks.size() ||
      std::any_of(summary->edges.begin(), summary->edges.end(), beyond) ||
      (summary->complete && summary->steps.empty()))
    return MalformedPage(path, page, kWhat);
  return StepSummaryPtr(std::move(summary));
}

StatusOr<StepBlocksPtr> ReadStepBlocks(const std::string& path, const store::Page& page,
                                       const StepSummary& summary) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path, page, kWhat));
  BinaryReader in(text);
  auto blocks = std::make_shared<StepBlocks>();
  blocks->first = in.I64();
  blocks->count = in.U64();
  const bool whole = FromPlanes(in.StrView(), &blocks->slowdowns);
  RETURN_IF_ERROR(in.Finish(path));
  if (!whole || blocks->count > summary.steps.size() ||
      blocks->slowdowns.size() != blocks->count * summary.ranks.size())
    return MalformedPage(path, page, kWhat);
  return StepBlocksPtr(std::move(blocks));
}

size_t BytesOf(const StepSummary& summary) {
  return sizeof(summary) +
         8 * (summary.ranks.size() + summary.steps.size() + summary.medians.size() +
              summary.edge_seconds.size()) +
         4 * summary.edges.size();
}

size_t BytesOf(const StepBlocks& blocks) { return sizeof(blocks) + 8 * blocks.slowdowns.size(); }

}  // namespace pitwall::history
