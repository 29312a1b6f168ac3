// Quantiles of long windows with a bounded relative error. The memory depends on how much the
// values vary, not on the number of values. The algorithm is DDSketch (C. Masson, J. E. Rim, H. K.
// Lee: "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB
// 2019).
//
// A value is counted in a bucket determined by its logarithm, interpolated linearly between powers
// of two (the paper's fast variant). There are 64 buckets per power of two. They are found by
// shifting bits, so that all machines give the same result. The value of a bucket differs by at
// most 1/129 (< 1%) from any value in it. Counts are integers, so subtracting a sample that leaves
// the window is exact. For this purpose, the buckets of the samples in the window are kept in
// order, with 4 bytes per run of equal buckets. Windows since the start (panes == 0) keep only
// counts. A result is always between the minimum and maximum sample of the window
// (approx_min_max.h).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/functions/approx_min_max.h"

namespace pitwall::window {

// Maximum relative error of a bucket's value. 0, the infinities, and NaN are exact. Numbers closer
// to 0 than 2^-1022 count as 0.
inline constexpr double kSketchError = 1.0 / 129;

// Maps values to buckets and back. Buckets sort like their values, with NaN first, as in PromQL.
// Bucket 0 contains zero.
int32_t SketchBucketOf(double value);
double SketchValueOf(int32_t bucket);

// Not thread-safe. Has the same columns as the selector; the owner sets their number.
class SketchWindow {
 public:
  // A column keeps at most `max_entries`. A window with dropped samples has no result.
  SketchWindow(const WindowShape& shape, uint32_t max_entries);

  // Sets the phase. Call this before the first sample.
  void set_phase(Duration phase) { grid_.phase = phase; }

  void SetColumns(size_t columns);
  // Adds samples at `position`: values[cells[i]] belongs to column columns[i], and MissingValue()
  // is skipped. The columns must not have samples at or after this position.
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values);
  // Computes quantile_over_time over the bucket values, each with a relative error of at most
  // kSketchError. Every sample must be at or before `tick`.
  void Read(Position tick, double phi, double* values, uint8_t* present);
  // Returns whether the last Read encountered a window with dropped samples.
  bool incomplete() const { return incomplete_; }

  // Reorders the columns: column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  void Reset();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  // Ring of log entries. An entry contains the number of panes since the previous entry, the number
  // of equal samples minus one, and the bucket of these samples.
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
    uint32_t entered = 0;  // number of counted entries, from the front
    // Pane of the entry before the front, pane of the last counted entry, and pane of the last
    // entry.
    PaneIndex front_pane, entered_pane, last_pane;
    PaneIndex lost_pane = PaneIndex::Min();  // newest pane with dropped samples
    uint64_t total = 0;                      // number of counted samples
    std::vector<int32_t> buckets;            // sorted
    std::vector<uint32_t> counts;            // one per bucket, never 0
    ApproxMinMax extremes;                   // extremes of the counted samples
    // (pane, value) pairs that have not been counted yet; only used with a delay.
    std::deque<std::pair<PaneIndex, double>> arriving;
  };

  static void Count(Column* column, int32_t bucket, uint32_t samples);
  static void Discount(Column* column, int32_t bucket, uint32_t samples);
  static double Quantile(const Column& column, double phi);
  static double ValueOf(const Column& column, size_t bucket);
  void PopFront(Column* column) const;
  // Counts the samples in panes up to `last` and removes the samples before the window that ends at
  // that pane.
  void MoveTo(Column* column, PaneIndex last) const;
  void Push(Column* column, PaneIndex pane, double value) const;
  void Enter(Column* column, PaneIndex pane, double value) const;

  PaneGrid grid_;
  const WindowPanes panes_;
  const uint32_t max_entries_;
  bool incomplete_ = false;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
