// Exact order statistics over one sliding window of all its samples.
//
// Quantiles are tracked (rank_tracker.h), each φ by itself, and the samples looked through only
// where that does not tell. The median absolute deviation needs them all in order: from its first
// read on, each column has a sorted array, in which a new sample replaces the one that leaves with
// one move of what lies between them, and quantiles are read from it too. Both give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/functions/rank_tracker.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"

namespace pitwall::window {

class OrderedWindow {
 public:
  // A column with more than `max_samples` in the window has no result, from then until the first
  // pane at a multiple of the window's length at which it has fewer again.
  OrderedWindow(int64_t panes, uint32_t max_samples)
      : panes_(panes), max_samples_(max_samples), count_below_(CountBelow()) {}

  int64_t panes() const { return panes_; }
  int64_t cursor() const { return cursor_; }
  void Start(int64_t cursor);
  // Needs pane cursor() - panes(), one more than the window has, to have been kept by the source
  // until now.
  void Advance(PaneSource& source);
  // State from the panes. Which columns overflowed is kept.
  void Rebuild(PaneSource& source, int64_t cursor);
  // Column i of the result was column keep[i]. Rebuild next.
  void Remap(const std::vector<uint32_t>& keep);
  // Every sample left the window and a multiple of its length was passed.
  void ForgetOverflows();

  // phi outside 0..1 gives infinities, NaN gives NaN, as in Prometheus. A phi that changes from
  // read to read costs O(samples) a column.
  void Read(PaneSource& source, double phi, double* values, uint8_t* present);
  // Median of the absolute deviations from the median: O(samples) a column.
  void ReadMad(PaneSource& source, double* values, uint8_t* present);
  bool AnyOverflow() const { return overflows_ > 0; }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  // What a pass that brings samples in is to fill on the way.
  struct Answer {
    RankTracker* tracker;
    double* values;
    uint8_t* present;
  };

  void SetColumns(size_t columns);
  RankTracker& TrackerOf(double phi);
  // Brings the pane at the cursor in. Both return whether they have given the answer on the way.
  bool Sync(PaneSource& source, const Answer* answer);
  bool Exchange(const Pane* leaving, const Pane& entering, const Answer* answer);
  void ExchangeOne(size_t column, double leaving, double entering);
  // The answer of one column; those that the tracker cannot tell are put into unknown_.
  void Give(size_t column, const Answer& answer);
  // Those of unknown_, from the samples.
  void LookThrough(PaneSource& source, const Answer& answer);
  void Overflow(size_t column);
  void Insert(size_t column, double value);
  void Remove(size_t column, double value);
  void ReplaceSorted(std::vector<int64_t>& keys, int64_t leaving, int64_t entering);
  // Takes in panes first..last of every column, or of those set in `only`.
  void Fill(PaneSource& source, int64_t first, int64_t last, const std::vector<uint8_t>* only);
  void RetryOverflows(PaneSource& source);

  int64_t panes_;
  uint32_t max_samples_;
  CountKernel count_below_;
  int64_t cursor_ = 0;
  bool leaving_ = false;  // pane cursor_ - panes_ is still in the window
  bool entered_ = false;  // pane cursor_ is in the window, as of version_
  uint64_t version_ = 0;
  int64_t retried_ = INT64_MIN;  // cursor at which overflows were last looked at
  uint32_t overflows_ = 0;
  // By column.
  std::vector<uint32_t> counts_;  // samples in the window, 0 where they are too many
  std::vector<uint8_t> overflow_;
  std::vector<std::vector<int64_t>> sorted_;  // keys; once sorting_
  bool sorting_ = false;
  std::vector<RankTracker> trackers_;  // none while sorting_
  // Scratch.
  std::vector<uint32_t> unknown_;
  std::vector<uint32_t> slots_;
  std::vector<int64_t> keys_;
  std::vector<double> deviations_;
};

}  // namespace pitwall::window
