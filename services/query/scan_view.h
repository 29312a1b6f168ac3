// Column view that computes each column from the stored samples in its windows. Between ticks, the
// view keeps only the positions of the last windows and the results of windows that do not move.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rules/eval/work_meter.h"
#include "services/base/status.h"
#include "services/model/windows/demand.h"
#include "services/query/query_times.h"
#include "services/query/stored_series.h"

namespace pitwall::query {

using eval::WorkMeter;

class ScanView final : public ColumnView {
 public:
  // Series that match a selector. `series` must overlap the required time range. All data is
  // borrowed.
  struct Feed {
    uint32_t selector = 0;
    std::span<const StoredSeries> series;
  };
  // `feed_of` maps each demand to the index of its feed. All pointers must outlive the view.
  ScanView(const DemandSet* demands, const QueryTimes* times, std::vector<Feed> feeds,
           std::vector<size_t> feed_of, WorkMeter* meter);
  ~ScanView() override;

  void BeginTick(int64_t tick) { tick_ = tick; }

  uint64_t Generation(uint32_t selector) const override;
  std::span<const Labels* const> Series(uint32_t selector) const override;
  using ColumnView::Read;
  Column Read(uint32_t demand, std::span<const double> arguments) override;

  // Calls visit(labels, times, values) for each series that has samples in the demand's window at
  // the current tick. Stale markers are excluded. Stops early if the meter reports an error.
  void VisitWindows(uint32_t demand,
                    const std::function<void(const Labels&, std::span<const int64_t>,
                                             std::span<const double>)>& visit);

 private:
  struct Bounds;
  struct State;
  // Column indexes for the series of one feed.
  struct Members {
    std::vector<uint32_t> column;      // column index of each series in its selector
    std::vector<uint8_t> has_markers;  // 1 if the series contains stale markers
  };

  Bounds WindowAt(const Demand& demand) const;
  // Moves the cursors of one series to the bounds of the window.
  void Seek(const StoredSeries& series, const Bounds& bounds, size_t index, State* state) const;
  // Returns the index of the window's last sample. Moves only the end cursor.
  static std::optional<size_t> Newest(const StoredSeries& series, const Bounds& bounds,
                                      size_t index, State* state);
  // Returns the samples between the cursors. If the series contains stale markers, the samples
  // without the markers are copied to `state`.
  void Samples(const StoredSeries& series, bool has_markers, size_t index, State* state,
               std::span<const int64_t>* times, std::span<const double>* values) const;

  const DemandSet* const demands_;
  const QueryTimes* const times_;
  const std::vector<Feed> feeds_;
  const std::vector<size_t> feed_of_;
  WorkMeter* const meter_;
  int64_t tick_ = 0;
  std::vector<std::vector<const Labels*>> labels_;  // indexed by selector
  std::vector<Members> members_;                    // indexed by feed
  std::vector<std::unique_ptr<State>> states_;      // indexed by demand
};

}  // namespace pitwall::query
