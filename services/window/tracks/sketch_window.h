// Quantiles of long windows to a relative error, in memory that depends on how much the values vary
// and not on their number: DDSketch (C. Masson, J. E. Rim, H. K. Lee: "DDSketch: a fast and
// fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019).
//
// A value is counted in a bucket by its logarithm, taken linearly between powers of two (the
// paper's fast variant): 64 buckets from each power of two to the next, found by shifting bits, so
// that every machine finds the same. What a bucket stands for is off by at most 1/129 < 1 % for any
// value in it. Counts are integers: a sample that leaves is subtracted, and leaves no trace. So
// that it can, the buckets of the samples in the window are kept in order, 4 bytes each and one for
// a run of equals; windows since the beginning (panes == 0) keep counts only. A result never lies
// beyond the least and greatest sample of the window (approx_min_max.h).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/functions/approx_min_max.h"

namespace pitwall::window {

// Relative error of what a bucket stands for. Exact: 0, the infinities, NaN. Numbers nearer to 0
// than 2^-1022 count as 0.
inline constexpr double kSketchError = 1.0 / 129;

// Buckets in the order of their values, NaN before all, as PromQL sorts; 0 for zero.
int32_t SketchBucketOf(double value);
double SketchValueOf(int32_t bucket);

// Not thread-safe. Columns are those of the selector; the owner tells their number.
class SketchWindow {
 public:
  // panes and delay as in WindowShape. A column keeps at most `max_entries`; a window that misses
  // some of its samples has no result.
  SketchWindow(PaneGrid grid, int64_t panes, int64_t delay, uint32_t max_entries);

  // Before the first sample.
  void set_phase(int64_t phase) { grid_.phase = phase; }

  void SetColumns(size_t columns);
  // values[cells[i]] at `position` belongs to column columns[i]; MissingValue() is skipped. No
  // column has had a sample at or after this position.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values);
  // As quantile_over_time of values that are each off by kSketchError at most. Every sample is at
  // or before `tick`.
  void Read(int64_t tick, double phi, double* values, uint8_t* present);
  // Whether the last Read met a window with missing samples.
  bool lacked() const { return lacked_; }

  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  void ClearColumns(const std::vector<uint32_t>& columns);
  void Reset();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  // Entries: panes since the one before, how many equals less one, bucket.
  class Ring {
   public:
    uint32_t size() const { return size_; }
    uint32_t& operator[](uint32_t k) { return cells_[Place(k)]; }
    uint32_t operator[](uint32_t k) const { return cells_[Place(k)]; }
    void PushBack(uint32_t entry);
    void PopFront();
    size_t Capacity() const { return cells_.capacity(); }

   private:
    size_t Place(uint32_t k) const {
      const size_t at = head_ + k;
      return at < cells_.size() ? at : at - cells_.size();
    }
    void Resize(size_t capacity);
    std::vector<uint32_t> cells_;
    size_t head_ = 0;
    uint32_t size_ = 0;
  };
  struct Column {
    Ring log;
    uint32_t entered = 0;  // entries, from the front, that are counted
    // Panes of the entries before the front, before the first that has not entered, and of the
    // last.
    int64_t front_pane = 0, entered_pane = 0, last_pane = 0;
    int64_t lost_pane = INT64_MIN;  // the newest one of which samples were dropped
    uint64_t total = 0;             // samples counted
    std::vector<int32_t> buckets;   // sorted
    std::vector<uint32_t> counts;   // by bucket, none 0
    ApproxMinMax extremes;          // of the samples counted
    std::deque<std::pair<int64_t, double>> arriving;  // (pane, value) not yet counted: delay only
  };

  static void Count(Column* column, int32_t bucket, uint32_t samples);
  static void Discount(Column* column, int32_t bucket, uint32_t samples);
  static double Quantile(const Column& column, double phi);
  static double ValueOf(const Column& column, size_t bucket);
  void PopFront(Column* column) const;
  // Brings in what is in panes up to `last`, lets go of what is before the window that ends there.
  void MoveTo(Column* column, int64_t last) const;
  void Push(Column* column, int64_t pane, double value) const;
  void Enter(Column* column, int64_t pane, double value) const;

  PaneGrid grid_;
  const int64_t panes_;
  const int64_t delay_;
  const uint32_t max_entries_;
  bool lacked_ = false;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
