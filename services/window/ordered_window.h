// Exact order statistics over one sliding window: per column a sorted array of the window's
// samples. A new sample replaces the one that leaves with one move of what lies between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/pane.h"

namespace pitwall::window {

// quantile() and median absolute deviation of samples in any order, as Prometheus has them.
double QuantileOf(std::span<const double> values, double phi);
double MadOf(std::span<const double> values);

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
  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  // Every sample left the window and a multiple of its length was passed.
  void ForgetOverflows();

  // phi outside 0..1 gives infinities, NaN gives NaN, as in Prometheus.
  void Read(PaneSource& source, double phi, double* values, uint8_t* present);
  // Median of the absolute deviations from the median: O(samples) a column.
  void ReadMad(PaneSource& source, double* values, uint8_t* present);
  bool AnyOverflow() const { return overflows_ > 0; }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  struct Column {
    std::vector<int64_t> keys;  // sorted: doubles mapped so that integers compare as PromQL sorts
    bool overflow = false;
  };

  // What Read is to fill.
  struct Answer {
    double phi;
    bool inside;     // phi in 0..1
    double outside;  // every value otherwise
    double* values;
    uint8_t* present;
  };

  // Brings the pane at the cursor in. Both return whether they have given the answer on the way.
  bool Sync(PaneSource& source, const Answer* answer);
  bool Exchange(const Pane* leaving, const Pane& entering, const Answer* answer);
  void Give(size_t i, const Answer& answer) const;
  void Overflow(Column& column);
  void Insert(Column& column, double value);
  void Remove(Column& column, double value);
  void Replace(Column& column, double leaving, double entering);
  void Fill(PaneSource& source, int64_t first, int64_t last);
  void RetryOverflows(PaneSource& source);

  int64_t panes_;
  uint32_t max_samples_;
  CountKernel count_below_;
  int64_t cursor_ = 0;
  bool leaving_ = false;  // pane cursor_ - panes_ is still in the arrays
  bool entered_ = false;  // pane cursor_ is in the arrays, as of version_
  uint64_t version_ = 0;
  int64_t retried_ = INT64_MIN;  // cursor at which overflows were last looked at
  uint32_t overflows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
