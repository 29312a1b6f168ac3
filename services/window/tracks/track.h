// The samples of one selector on one pane grid, and the windows over them. All demands that agree
// in selector, grid and age share a track: a sample is stored once for all of them.
//
// Samples come in order of position per column. The pane that holds the newest position is open:
// its samples lie in layers (the j-th sample of each column), which are folded into partials when
// there are many; the panes before are closed and kept as long as a window needs them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/tracks/ordered_window.h"
#include "services/window/tracks/pane_archive.h"
#include "services/window/tracks/sliding_window.h"

namespace pitwall::window {

// Not thread-safe. Columns are those of the selector; the owner tells their number.
class Track final : public PaneSource {
 public:
  // with_stale: stale markers are samples here (instant selectors with an offset); elsewhere they
  // never arrive.
  // packed_limit: 0, or the track is one of windows of many panes: older ones are packed, into at
  // most so many bytes, beyond which the oldest are dropped. Not for kOrdered.
  Track(PaneGrid grid, bool with_stale, size_t packed_limit);

  // ---- Before the first sample.
  // The window's index. Equal windows are one. `panes` and `delay` as in WindowShape.
  size_t AddWindow(Family family, int64_t panes, int64_t delay, uint32_t max_ordered);
  void set_phase(int64_t phase) { grid_.phase = phase; }
  // Drops windows whose index is not in `used`; windows keep their order. Any time.
  void RetainWindows(const std::vector<bool>& used);

  const PaneGrid& grid() const { return grid_; }
  bool with_stale() const { return with_stale_; }
  size_t windows() const { return windows_.size(); }
  bool started() const { return started_; }
  int64_t open_index() const { return open_; }

  // ---- Samples.
  // The number of columns never falls, except by Remap.
  void SetColumns(size_t columns);
  // Closes every pane that ends before `position`. Never goes back.
  void Advance(int64_t position);
  // values[cells[i]] at `position` belongs to column columns[i]; MissingValue() is skipped.
  // Advance(position) first. No column has had a sample at this position.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values);
  // A value beyond kHuge is about to come.
  void MarkHuge() { huge_ = true; }

  // ---- Reads, as of the last Advance, whose position must have been the end of a pane plus the
  // windows' offset.
  void Read(size_t window, FinishKernel finish, const ReadContext& context, double* values,
            uint8_t* present);
  void ReadOrdered(size_t window, double phi, double* values, uint8_t* present);
  void ReadMad(size_t window, double* values, uint8_t* present);
  // Averages whose sum overflowed, from scaled sums.
  void RescueAverages(size_t window, double* values, const uint8_t* present);
  // The end of the newest pane that the window's reads include.
  int64_t WindowEnd(size_t window) const;
  bool AnyOverflow(size_t window) const;

  // Whether samples after `position` were dropped for packed_limit.
  bool DroppedAfter(int64_t position) const { return lost_ > position; }

  // ---- Columns.
  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  void ClearColumns(const std::vector<uint32_t>& columns);
  // As new, with the same windows and columns.
  void Reset();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

  // ---- PaneSource.
  const Pane& At(int64_t index) override;
  RowPool& pool() override { return *pool_; }
  size_t columns() const override { return columns_; }

 private:
  static constexpr uint32_t kMaxLayers = 16;
  struct Window {
    Family family;
    int64_t panes;
    int64_t delay;
    // One of the two.
    std::unique_ptr<SlidingWindow> sliding;
    std::unique_ptr<OrderedWindow> ordered;
    // ordered, per column: samples kept in deep panes since the last multiple of `panes`, where the
    // window is tried again after an overflow. Only where they are too many for it may samples be
    // dropped.
    std::vector<uint32_t> block_samples;
  };

  void Plan();
  PaneArchive::Shape shape() const { return {*pool_, columns_, families_}; }
  // Index of the oldest pane in closed_.
  int64_t front() const { return open_ - static_cast<int64_t>(closed_.size()); }
  size_t FamilyIndex(Family family) const;
  void Start(int64_t index);
  void Close();
  void Jump(int64_t index);
  void Trim();
  void Archive();
  void DropOldest();
  void Settle();
  void FoldLayers();
  void FoldScaled(size_t sums_index);
  void KeepSamples();
  bool OverLimit(size_t column) const;
  void CountBlock(Window& window) const;
  void SaveRow(BinaryWriter& out, const Row& row) const;
  void SaveTimes(BinaryWriter& out, const Row& times, const Row& values) const;
  Row LoadRow(BinaryReader& in, uint32_t fields);
  Row LoadTimes(BinaryReader& in, const Row& values);
  void OpenLayer(uint32_t layer);
  void ClearLayers();
  void RebuildWindows();
  void RebuildOrdered();
  void ClearWindowRows(std::vector<Row>* prefixes);
  Row MapRow(const Row& row, RowPool& to, const std::vector<uint32_t>& keep) const;
  template <typename Map>
  void MapPane(Pane& pane, const Map& map, const std::vector<uint32_t>& target) const;
  void CountPane(Pane& pane);
  void SavePane(BinaryWriter& out, const Pane& pane) const;
  // order: index in families_ of the partials in the order in which they were saved.
  void LoadPane(BinaryReader& in, const std::vector<size_t>& order, Pane& pane);

  PaneGrid grid_;
  bool with_stale_;
  size_t packed_limit_;
  bool packed_;
  std::unique_ptr<RowPool>
      pool_;  // outlives all rows, those of the windows too: declared before them
  std::vector<Window> windows_;
  // From the windows:
  std::vector<Family> families_;      // that have partials, in order of first use
  std::vector<int64_t> keep_family_;  // panes kept per family
  std::vector<int64_t> trimmed_;      // scratch of Trim
  int64_t keep_ = 0;                  // panes kept behind the open one
  int64_t keep_times_ = 0;
  bool timed_ = false;
  bool ordered_ = false;
  uint32_t max_ordered_ = 0;

  size_t columns_ = 0;
  bool huge_ = false;
  bool started_ = false;
  int64_t open_ = 0;             // index of the open pane
  std::deque<Pane> closed_;      // open_ - size .. open_ - 1
  size_t nonempty_ = 0;          // of these
  PaneArchive archive_;          // packed_: those before
  int64_t lost_ = kMinPosition;  // end of the newest pane with samples that was dropped from there

  Pane open_pane_;  // as of Settle
  bool settled_ = false;
  bool folded_ = false;  // layers were folded into open_pane_.partials before
  uint64_t version_ = 1;
  uint32_t used_layers_ = 0;
  std::array<Row, kMaxLayers> layers_, layer_times_;
  std::array<double*, kMaxLayers> layer_cells_{};
  std::array<int64_t*, kMaxLayers> layer_time_cells_{};
  std::array<uint32_t, kMaxLayers> layer_count_{};
  std::vector<uint8_t> fill_;  // layers used per column
  // ordered_, per column, of the open pane: samples kept, and whether some were dropped.
  std::vector<uint32_t> kept_samples_;
  std::vector<uint8_t> dropped_;
};

}  // namespace pitwall::window
