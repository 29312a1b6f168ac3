// Results of a store's demands at the current tick.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/labels.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/prefix_progress.h"

namespace pitwall::window {

class DemandTable;
class SelectorColumns;
class SeriesTable;
class StoreProgress;

// Checks whether the store can serve the demand. Returns InvalidArgument for an invalid range,
// interval, offset, or function, and ResourceExhausted for more than kMaxPanes panes or
// kMaxOrderedSamples samples. Functions that keep each sample may use at most kMaxOrderedSamples
// panes.
Status ValidateDemand(const Demand& demand);

// Read access to the demands of one store. Demands are identified by their index in the set. The
// store owns the object and everything that it reads. Not thread-safe.
class DemandResults final : public ColumnView {
 public:
  DemandResults(DemandTable& table, const StoreProgress& progress, const SelectorColumns& columns,
                const SeriesTable& series)
      : table_(table), progress_(progress), columns_(columns), series_(series) {}

  // ---- ColumnView. Demands are read at ticks that are multiples of their interval, counted from
  // the origin if align_job is set. Read requires that no sample has been sealed since
  // SeriesStore::BeginTick.
  uint64_t Generation(uint32_t selector) const override;
  std::span<const Labels* const> Series(uint32_t selector) const override;
  using ColumnView::Read;
  Column Read(uint32_t demand, std::span<const double> arguments) override;

  // Returns OK, or the reason why columns of this demand have no results. The reason is the error
  // from ValidateDemand, or ResourceExhausted in three cases: a series has more than
  // kMaxOrderedSamples samples in a quantile's window, a series has more than kMaxSketchSamples
  // samples in a sketch's window, or samples of the window were dropped because of
  // max_window_bytes.
  Status StatusOf(uint32_t demand) const;
  // Returns the position from which the demand's window is complete. For demands of the first set,
  // it is Position::Earliest(), and their partial windows are evaluated as in Prometheus. For
  // demands that Replace added, it is later.
  Position FullFrom(uint32_t demand) const;
  // For kFirst: returns the progress of the fullest window, or nullopt if any window is full.
  std::optional<PrefixProgress> Filling(uint32_t demand) const;
  const DemandSet& demands() const;

 private:
  DemandTable& table_;
  const StoreProgress& progress_;
  const SelectorColumns& columns_;
  const SeriesTable& series_;
};

}  // namespace pitwall::window
