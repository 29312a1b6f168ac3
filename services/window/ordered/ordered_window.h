// Exact order statistics over one sliding window of all its samples.
//
// Quantiles are tracked, and the samples are read again only where a tracker does not know the
// result. The median absolute deviation needs the samples in order: they are sorted from its first
// read on (OrderedColumns).
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_columns.h"
#include "services/window/ordered/quantile_scan.h"

namespace pitwall::window {

// Not thread-safe.
class OrderedWindow {
 public:
  // A column with more than `max_samples` in the window has no result, from then until the first
  // pane at a multiple of the window's length at which it has fewer again.
  OrderedWindow(int64_t panes, uint32_t max_samples) : panes_(panes), columns_(max_samples) {}

  void Start(int64_t cursor);
  // Needs the pane that is as many panes before the cursor as the window has, one more than are in
  // it, to have been kept by the source until now.
  void Advance(PaneSource& source);
  // State from the panes. Which columns overflowed is kept.
  void Rebuild(PaneSource& source, int64_t cursor);
  // Column i of the result was column keep[i]. Rebuild next.
  void Remap(const std::vector<uint32_t>& keep) { columns_.Remap(keep); }
  // Every sample left the window and a multiple of its length was passed.
  void ForgetOverflows() { columns_.ForgetOverflows(); }

  // phi outside 0..1 gives infinities, NaN gives NaN, as in Prometheus. A phi that changes from
  // read to read costs O(samples) a column.
  void Read(PaneSource& source, double phi, double* values, uint8_t* present);
  // Median of the absolute deviations from the median: O(samples) a column.
  void ReadMad(PaneSource& source, double* values, uint8_t* present);
  bool AnyOverflow() const { return columns_.overflowed().Any(); }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const { return columns_.MemoryBytes() + scan_.MemoryBytes(); }

 private:
  // The results of a quantile, which the pass that brings samples in gives on the way.
  struct Answer {
    RankTracker* tracker;
    double* values;
    uint8_t* present;
  };

  // Brings the pane at the cursor in. Both return whether they have given the answer on the way.
  bool Sync(PaneSource& source, const Answer* answer);
  bool Exchange(const Pane* leaving, const Pane& entering, const Answer* answer);
  // The answer of one column; those that the tracker does not know are added to scan_.
  void Give(size_t column, const Answer& answer);
  void ReadSorted(double phi, double* values, uint8_t* present) const;
  // Takes in panes first..last of every column, or of those set in `only`.
  void Fill(PaneSource& source, int64_t first, int64_t last, const std::vector<uint8_t>* only);
  void RetryOverflows(PaneSource& source);

  const int64_t panes_;
  int64_t cursor_ = 0;
  bool leaving_ = false;  // pane cursor_ - panes_ is still in the window
  bool entered_ = false;  // pane cursor_ is in the window, as of version_
  uint64_t version_ = 0;
  int64_t retried_ = INT64_MIN;  // cursor at which overflows were last retried
  OrderedColumns columns_;
  QuantileScan scan_;
  std::vector<double> deviations_;  // scratch
};

}  // namespace pitwall::window
