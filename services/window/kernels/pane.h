// The samples of one pane of one track, over all its columns.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/model/value.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

// A pane in which no column has two samples is kept as these samples: one row, shared by all
// families. Otherwise each family of the track keeps its partial of the pane. Both give the same
// bits: adding a sample is merging the partial of that one sample.
enum class PaneForm : uint8_t { kEmpty, kSingle, kDeep };

// A sample beside the rows that ordered windows keep.
struct Extra {
  uint32_t column;
  double value;
};

// What a pane in which some column has several samples keeps.
struct DeepPane {
  std::vector<Row> partials;  // in the order of PanePlan::families(); null once out of reach
  Row scaled;                 // tracks with huge values: Sums of the values times kHugeScale
  // Tracks with an ordered window: every sample, in no particular order.
  std::vector<Row> samples;
  std::vector<Extra> extras;
  // Columns with samples that were not kept, since they are over the limit of every ordered window.
  std::vector<uint32_t> dropped;
};

struct Pane {
  PaneForm form = PaneForm::kEmpty;
  uint32_t present = 0;            // kSingle: columns with a sample
  uint64_t version = 0;            // differs after every change: only the newest pane still changes
  Row values;                      // kSingle
  Row times;                       // kSingle, if the track is timed
  std::unique_ptr<DeepPane> deep;  // kDeep

  // Counts the samples again after a change of the first `columns` cells: a pane without any is
  // empty.
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

// Sums of values beyond kHuge may overflow where their mean does not. Once a track has met one, its
// deep panes keep scaled sums too (scaling by a power of two is exact).
inline constexpr double kHuge = 0x1p960;
inline constexpr double kHugeScale = 0x1p-64;
// An infinity is no overflow: what has one in it is infinite or NaN in earnest.
inline bool IsHuge(double value) { return std::fabs(value) > kHuge && std::isfinite(value); }

// Where windows find panes: the track.
class PaneSource {
 public:
  virtual ~PaneSource() = default;
  // Pane `index` as of now; an empty one where nothing is held. Valid until the track changes.
  virtual const Pane& At(int64_t index) = 0;
  virtual RowPool& pool() = 0;
  virtual size_t columns() const = 0;
};

}  // namespace pitwall::window
