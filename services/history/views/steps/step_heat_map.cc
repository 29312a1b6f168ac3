// Heat map of ranks by steps, computed from window summaries if columns consist of whole blocks,
// and from samples otherwise.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "services/history/views/steps/heat_map.h"
#include "services/history/views/steps/statistics.h"
#include "services/history/views/steps/step_matrix.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

// Columns of at least this many steps use coarse blocks; shorter columns use only fine blocks.
constexpr int64_t kCoarseColumn = 4 * kStepBlocks[1];

// Returns the next valid number of steps per column. Valid numbers are all numbers below a block's
// length and the multiples of a block's length.
int64_t WholeBlocks(int64_t steps) {
  if (steps < kStepBlocks[0]) return steps;
  const int64_t block = steps < kCoarseColumn ? kStepBlocks[0] : kStepBlocks[1];
  return (steps + block - 1) / block * block;
}

int64_t StepsOfColumn(int64_t first, int64_t last, size_t most_columns) {
  const auto most = static_cast<int64_t>(std::clamp<size_t>(most_columns, 1, kMaxWidth));
  int64_t steps = WholeBlocks((last - first) / most + 1);
  while (last / steps - first / steps >= most) steps = WholeBlocks(steps + 1);
  return steps;
}

// One window, read from its summary or, if it has no summary, from its samples.
struct Source {
  const StepWindow* window = nullptr;
  StepSummaryPtr summary;
  bool cut = false;                     // whether the query covers only some of the window's steps
  size_t first_step = 0, end_step = 0;  // range of steps in the summary that the query covers
  bool Edge(size_t step) const {
    const auto at = static_cast<uint32_t>(step);
    return std::binary_search(summary->edges.begin(), summary->edges.end(), at);
  }
};

// Adjacent blocks in one column.
struct BlockRun {
  size_t column;
  size_t first, end;
};

// Returns the maximum slowdown, or NaN if no step was reported. The loop is branch-free and
// processes two values at a time, because a single dependency chain would be limited by latency.
double MostOf(const double* from, const double* to) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const auto greater = [](double value, double than) { return value > than ? value : than; };
  double most = kNothing, other = kNothing;
  for (; to - from >= 2; from += 2) {
    most = greater(from[0], most);
    other = greater(from[1], other);
  }
  if (from != to) most = greater(*from, most);
  most = greater(other, most);
  return most == kNothing ? NormalNan() : most;
}

class StepReading {
 public:
  StepReading(const StepQuery& query, size_t most_columns, bool own)
      : query_(query), most_columns_(most_columns), own_(own) {}

  Status Read(const History::StepWindows& windows) {
    RETURN_IF_ERROR(Summaries(windows));
    do {
      RETURN_IF_ERROR(Gather());
    } while (complete_ && Apart());
    return OkStatus();
  }
  // Returns false if own time was requested but a run does not report it. The other results are
  // then invalid.
  bool complete() const { return complete_; }
  StatusOr<StepHeatMap> Map() const;

 private:
  StepBasis basis() const { return own_ ? StepBasis::kOwn : StepBasis::kDuration; }
  Status Summaries(const History::StepWindows& windows);
  bool Usable(const StepSummary& summary, Source* source) const;
  Status Gather();
  Status AddEdges(const Source& source);
  bool Apart();
  size_t LevelFor(const Source& source, int64_t steps_of_column) const;
  std::vector<int64_t> Ranks() const;

  const StepQuery& query_;
  const size_t most_columns_;
  const bool own_;
  std::vector<Source> sources_;
  StepMatrix matrix_;  // cells from samples and edges
  bool complete_ = true;
};

// Returns whether the summary can be used. If the query covers only part of a block, samples must
// be read instead.
bool StepReading::Usable(const StepSummary& summary, Source* source) const {
  if (!query_.ranks.empty()) return false;
  if (!summary.complete) {
    // The summary does not show which runs have no own time.
    source->cut = query_.from_step > kNoStep + 1 || query_.to_step < kMaxPosition;
    return !source->cut;
  }
  const auto at = [&](int64_t step) {
    return static_cast<size_t>(std::lower_bound(summary.steps.begin(), summary.steps.end(), step) -
                               summary.steps.begin());
  };
  source->first_step = at(query_.from_step);
  source->end_step = std::max(source->first_step, at(query_.to_step));
  source->cut = source->end_step - source->first_step < summary.steps.size();
  if (!source->cut) return true;
  const bool front = source->first_step > 0 && query_.from_step % kStepBlocks[0] != 0;
  const bool back = source->end_step < summary.steps.size() && query_.to_step % kStepBlocks[0] != 0;
  return !front && !back;
}

Status StepReading::Summaries(const History::StepWindows& windows) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (const StepWindow* window : windows) {
    Source& source = sources_.emplace_back();
    source.window = window;
    if (!query_.ranks.empty()) continue;
    ASSIGN_OR_RETURN(StepSummaryPtr summary, window->Summary(basis()));
    if (summary == nullptr || !Usable(*summary, &source)) continue;
    source.summary = std::move(summary);
    if (source.first_step == source.end_step) continue;
    first = std::min(first, source.summary->steps[source.first_step]);
    last = std::max(last, source.summary->steps[source.end_step - 1]);
  }
  // The summaries cannot be used if columns have fewer steps than a block.
  if (first > last || StepsOfColumn(first, last, most_columns_) < kStepBlocks[0]) {
    for (Source& source : sources_) {
      if (source.summary != nullptr && source.summary->complete) source.summary = nullptr;
    }
  }
  return OkStatus();
}

Status StepReading::AddEdges(const Source& source) {
  const StepSummary& summary = *source.summary;
  const size_t ranks = summary.ranks.size();
  for (size_t e = 0; e < summary.edges.size(); ++e) {
    const size_t step = summary.edges[e];
    if (step < source.first_step || step >= source.end_step) continue;
    const auto seconds = std::span(summary.edge_seconds).subspan(e * ranks, ranks);
    RETURN_IF_ERROR(matrix_.AddStep(summary.steps[step], summary.ranks, seconds));
  }
  return OkStatus();
}

// Windows are added in time order, so the later run of a repeated step is used.
Status StepReading::Gather() {
  matrix_ = StepMatrix();
  for (const Source& source : sources_) {
    if (source.summary != nullptr) {
      if (own_ && !source.summary->complete) complete_ = false;
      if (complete_) RETURN_IF_ERROR(AddEdges(source));
      continue;
    }
    if (!complete_) continue;
    RETURN_IF_ERROR(source.window->Samples([&](const std::vector<SampleColumn>& columns) {
      return VisitStepTimes(columns, query_, own_, [&](const RankSteps& of_rank) -> Status {
        const auto none = [](double seconds) { return std::isnan(seconds); };
        if (own_ && std::any_of(of_rank.seconds.begin(), of_rank.seconds.end(), none))
          complete_ = false;
        return complete_ ? matrix_.Add(of_rank) : OkStatus();
      });
    }));
  }
  return OkStatus();
}

// Detects steps that occur in several windows. A summary's medians are correct only if no other
// window contains the step, so windows that share a step are read from samples. Returns whether any
// window was affected.
bool StepReading::Apart() {
  std::vector<std::pair<int64_t, size_t>> steps;  // non-edge steps with their window index
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.summary == nullptr) continue;
    for (size_t s = source.first_step; s < source.end_step; ++s) {
      if (!source.Edge(s)) steps.emplace_back(source.summary->steps[s], i);
    }
  }
  if (!std::is_sorted(steps.begin(), steps.end())) std::sort(steps.begin(), steps.end());
  std::set<size_t> shared;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [step, window] = steps[i];
    const bool same = i > 0 && steps[i - 1].first == step;
    if (same) shared.insert(steps[i - 1].second);
    if (same || matrix_.Has(step)) shared.insert(window);
  }
  for (const size_t i : shared) sources_[i].summary = nullptr;
  return !shared.empty();
}

size_t StepReading::LevelFor(const Source& source, int64_t steps_of_column) const {
  const int64_t coarse = kStepBlocks[1];
  if (steps_of_column % coarse != 0) return 0;
  if (!source.cut) return 1;
  return query_.from_step % coarse == 0 && query_.to_step % coarse == 0 ? 1 : 0;
}

// Returns all ranks that may have cells, in ascending order.
std::vector<int64_t> StepReading::Ranks() const {
  std::vector<int64_t> out;
  for (const auto& [rank, seconds] : matrix_.ranks()) out.push_back(rank);
  for (const Source& source : sources_) {
    if (source.summary == nullptr) continue;
    const std::vector<int64_t>& more = source.summary->ranks;
    // Most windows have the same ranks.
    if (std::includes(out.begin(), out.end(), more.begin(), more.end())) continue;
    std::vector<int64_t> both;
    std::set_union(out.begin(), out.end(), more.begin(), more.end(), std::back_inserter(both));
    out = std::move(both);
  }
  return out;
}

StatusOr<StepHeatMap> StepReading::Map() const {
  StepHeatMap map;
  const std::vector<std::pair<int64_t, size_t>> steps = matrix_.Steps();
  int64_t first = INT64_MAX, last = INT64_MIN;
  if (!steps.empty()) first = steps.front().first, last = steps.back().first;
  for (const Source& source : sources_) {
    if (source.summary == nullptr || source.first_step == source.end_step) continue;
    first = std::min(first, source.summary->steps[source.first_step]);
    last = std::max(last, source.summary->steps[source.end_step - 1]);
  }
  if (first > last) {
    map.from_step = map.to_step = query_.from_step;
    return map;
  }
  map.own_time = own_;
  map.bucket_steps = StepsOfColumn(first, last, most_columns_);
  map.from_step = FloorTo(first, map.bucket_steps);
  map.to_step = NextAfter(last, map.bucket_steps);
  const auto columns = static_cast<size_t>((map.to_step - map.from_step) / map.bucket_steps);
  const auto column_of = [&](int64_t step) {
    return static_cast<size_t>((step - map.from_step) / map.bucket_steps);
  };
  const std::vector<int64_t> ranks = Ranks();
  std::vector<std::vector<double>> cells(ranks.size());  // empty if the rank reported no step
  const auto cells_of = [&](size_t rank) {
    if (cells[rank].empty()) cells[rank].assign(columns, NormalNan());
    return cells[rank].data();
  };
  const auto raise = [](double slowdown, double* cell) {
    if (std::isnan(*cell) || slowdown > *cell) *cell = slowdown;
  };
  std::vector<std::vector<double>> medians(columns);
  size_t blocks_read = 0;
  for (const Source& source : sources_) {
    if (source.summary == nullptr) continue;
    const StepSummary& summary = *source.summary;
    for (size_t s = source.first_step; s < source.end_step; ++s) {
      if (!source.Edge(s)) medians[column_of(summary.steps[s])].push_back(summary.medians[s]);
    }
    const size_t level = LevelFor(source, map.bucket_steps);
    const int64_t length = kStepBlocks[level];
    ASSIGN_OR_RETURN(const StepBlocksPtr blocks, source.window->Blocks(basis(), level));
    blocks_read += blocks->slowdowns.size();
    if (blocks_read > kMaxStepCells) return TooManyStepCells();
    std::vector<BlockRun> runs;
    for (size_t b = 0; b < blocks->count; ++b) {
      const int64_t step = (blocks->first + static_cast<int64_t>(b)) * length;
      // The window's steps in a block are either all inside the query or all outside.
      if (step + length <= query_.from_step || step >= query_.to_step) continue;
      if (step < map.from_step || step >= map.to_step) continue;
      if (runs.empty() || runs.back().column != column_of(step) || runs.back().end != b)
        runs.push_back({column_of(step), b, b});
      runs.back().end = b + 1;
    }
    size_t rank = 0;
    for (size_t r = 0; r < summary.ranks.size(); ++r) {
      while (ranks[rank] < summary.ranks[r]) ++rank;
      const double* const of_rank = &blocks->slowdowns[r * blocks->count];
      double* row = nullptr;
      for (const BlockRun& run : runs) {
        const double most = MostOf(of_rank + run.first, of_rank + run.end);
        if (std::isnan(most)) continue;
        if (row == nullptr) row = cells_of(rank);
        raise(most, &row[run.column]);
      }
    }
  }
  std::vector<std::pair<const std::vector<double>*, double*>> raised;  // (seconds, cells)
  size_t rank_index = 0;
  for (const auto& [rank, seconds] : matrix_.ranks()) {
    if (seconds.empty()) continue;
    while (ranks[rank_index] < rank) ++rank_index;
    raised.emplace_back(&seconds, cells_of(rank_index));
  }
  std::vector<double> of_step;
  std::vector<size_t> rows;  // indexes into `raised` of ranks that reported the step
  for (const auto& [step, at] : steps) {
    of_step.clear();
    rows.clear();
    for (size_t i = 0; i < raised.size(); ++i) {
      const std::vector<double>& seconds = *raised[i].first;
      if (at >= seconds.size() || std::isnan(seconds[at])) continue;
      of_step.push_back(seconds[at]);
      rows.push_back(i);
    }
    const double median = MedianOf(of_step);
    const size_t column = column_of(step);
    medians[column].push_back(median);
    for (size_t i = 0; i < of_step.size(); ++i)
      raise(median > 0 ? of_step[i] / median : NormalNan(), &raised[rows[i]].second[column]);
  }
  const std::map<int64_t, std::string> nodes = NodesOfRanks(*query_.job);
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (cells[r].empty()) continue;
    const auto node = nodes.find(ranks[r]);
    map.rows.push_back({ranks[r], node == nodes.end() ? "" : node->second, std::move(cells[r])});
  }
  for (std::vector<double>& of_column : medians)
    map.medians.push_back(MedianOf(std::move(of_column)));
  return map;
}

}  // namespace

StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own) {
  std::optional<StepHeatMap> map;
  for (const bool own : {true, false}) {
    if (own && !want_own) continue;
    const Status read = history.VisitStepWindows(
        QueryOfStepTimes(query, own), [&](const History::StepWindows& windows) -> Status {
          StepReading reading(query, most_columns, own);
          RETURN_IF_ERROR(reading.Read(windows));
          if (!reading.complete()) return OkStatus();
          ASSIGN_OR_RETURN(map, reading.Map());
          return OkStatus();
        });
    RETURN_IF_ERROR(read);
    if (map.has_value()) break;
  }
  return *std::move(map);
}

}  // namespace pitwall::history
