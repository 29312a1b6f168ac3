// The samples of one track in one pane, for all columns.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

// Form of a pane. If no column has more than one sample, the pane keeps the samples in one row that
// all families share (kSingle). Otherwise, each family of the track keeps its partial of the pane
// (kDeep). Both forms give the same bits, because adding a sample equals merging the partial of
// that sample.
enum class PaneForm : uint8_t { kEmpty, kSingle, kDeep };

// A sample that ordered windows keep in addition to the partials.
struct Extra {
  uint32_t column;
  double value;
};

// Content of a pane in which some column has several samples.
struct DeepPane {
  std::vector<Row> partials;  // in the order of PanePlan::families(); null if not needed
  Row scaled;  // for tracks with huge values: kSums partial of the values times kHugeScale
  // Every sample, in unspecified order, for tracks with an ordered window.
  std::vector<Row> samples;
  std::vector<Extra> extras;
  // Columns with samples that were dropped because they exceeded the limit of every ordered window.
  std::vector<uint32_t> dropped;
};

struct Pane {
  PaneForm form = PaneForm::kEmpty;
  uint32_t present = 0;            // for kSingle: number of columns with a sample
  uint64_t version = 0;            // differs after every change; only the newest pane changes
  Row values;                      // for kSingle
  Row times;                       // for kSingle, if the track is timed
  std::unique_ptr<DeepPane> deep;  // for kDeep

  // Recounts the samples after a change to the first `columns` cells. A pane without samples
  // becomes empty.
  void CountPresent(size_t columns) {
    if (form != PaneForm::kSingle) return;
    present = 0;
    for (size_t i = 0; i < columns; ++i) present += IsMissing(values.cells()[i]) ? 0 : 1;
    if (present > 0) return;
    form = PaneForm::kEmpty;
    values.reset();
    times.reset();
  }
};

// Values above this limit may have a sum that overflows even though their mean does not. Once a
// track has received such a value, its deep panes also keep scaled sums. Scaling by a power of two
// is exact.
inline constexpr double kHuge = 0x1p960;
inline constexpr double kHugeScale = 0x1p-64;
// An infinity does not count as an overflow, because results that include an infinity are correctly
// infinite or NaN.
inline bool IsHuge(double value) { return std::fabs(value) > kHuge && std::isfinite(value); }

// Source from which windows read panes. Implemented by the track.
class PaneSource {
 public:
  virtual ~PaneSource() = default;
  // Returns the current pane at `index`, or an empty pane if it is not stored. Valid until the
  // track changes.
  virtual const Pane& At(PaneIndex index) = 0;
  virtual RowPool& pool() = 0;
  virtual size_t columns() const = 0;
};

}  // namespace pitwall::window
