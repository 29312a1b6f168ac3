// Exact order statistics over all samples of one sliding window.
//
// Quantiles are tracked, and the samples are reread only if a tracker cannot determine the result.
// The median absolute deviation requires sorted samples, so all samples are kept sorted once it has
// been read (OrderedColumns).
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_columns.h"
#include "services/window/ordered/quantile_scan.h"

namespace pitwall::window {

// Not thread-safe.
class OrderedWindow {
 public:
  // A column with more than `max_samples` samples in the window has no result. The limit is
  // rechecked only at multiples of the window's length.
  OrderedWindow(int64_t panes, uint32_t max_samples) : panes_(panes), columns_(max_samples) {}

  void Start(PaneIndex cursor);
  // Moves to the next pane. The source must still have the pane that leaves the window, which is
  // `panes` panes before the cursor.
  void Advance(PaneSource& source);
  // Rebuilds the state from the panes. Keeps the set of overflowed columns.
  void Rebuild(PaneSource& source, PaneIndex cursor);
  // Reorders the columns: column i of the result was column keep[i]. Call Rebuild next.
  void Remap(const std::vector<uint32_t>& keep) { columns_.Remap(keep); }
  // Clears the overflows. Call this after every sample has left the window and the cursor has
  // passed a multiple of the window's length.
  void ForgetOverflows() { columns_.ForgetOverflows(); }

  // Computes a quantile. As in Prometheus, a phi outside [0, 1] gives an infinity, and NaN gives
  // NaN. A phi that changes from read to read costs O(samples) per column.
  void Read(PaneSource& source, double phi, double* values, uint8_t* present);
  // Computes the median absolute deviation from the median. The cost is O(samples) per column.
  void ReadMad(PaneSource& source, double* values, uint8_t* present);
  bool AnyOverflow() const { return columns_.overflowed().Any(); }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const { return columns_.MemoryBytes() + scan_.MemoryBytes(); }

 private:
  // Results of a quantile read, computed during the pass that adds samples.
  struct Answer {
    RankTracker* tracker;
    double* values;
    uint8_t* present;
  };

  // These two functions add the pane at the cursor. They return whether they also computed the
  // result.
  bool Sync(PaneSource& source, const Answer* answer);
  bool Exchange(const Pane* leaving, const Pane& entering, const Answer* answer);
  // Computes the result of one column. A column whose result the tracker cannot determine is added
  // to scan_.
  void Give(size_t column, const Answer& answer);
  void ReadSorted(double phi, double* values, uint8_t* present) const;
  // Adds the samples of panes first..last for every column, or only for the columns set in `only`.
  void Fill(PaneSource& source, PaneIndex first, PaneIndex last, const std::vector<uint8_t>* only);
  void RetryOverflows(PaneSource& source);

  const int64_t panes_;
  PaneIndex cursor_;
  bool leaving_ = false;  // whether pane cursor_ - panes_ is still in the window
  bool entered_ = false;  // whether pane cursor_, as of version_, is in the window
  uint64_t version_ = 0;
  PaneIndex retried_ = PaneIndex::Min();  // cursor at the last retry of overflows
  OrderedColumns columns_;
  QuantileScan scan_;
  std::vector<double> deviations_;  // scratch buffer
};

}  // namespace pitwall::window
