// Contents of one track's panes, and the number of panes for which each part is kept. Both follow
// from the track's windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

class PanePlan {
 public:
  // Adds the requirements of a window of this family that extends to `keep` panes before the open
  // pane.
  void Add(Family family, int64_t keep);

  // Returns the families that have partials, in order of first use. DeepPane::partials has the same
  // order.
  const std::vector<Family>& families() const { return families_; }
  // Returns the family's index, or families().size() if the plan does not contain it.
  size_t IndexOf(Family family) const;
  // These functions return the number of panes kept before the open pane: in total, with positions,
  // and with the partials of families()[index].
  int64_t keep() const { return keep_; }
  int64_t keep_times() const { return keep_times_; }
  int64_t keep_partials(size_t index) const { return keep_partials_[index]; }
  // These functions return whether any family needs positions, and whether any window needs every
  // sample.
  bool timed() const { return timed_; }
  bool ordered() const { return ordered_; }

  // Drops the parts of a pane that this plan does not need. `before` is the plan that the pane was
  // created with.
  void Adapt(Pane& pane, const PanePlan& before) const;

 private:
  std::vector<Family> families_;
  std::vector<int64_t> keep_partials_;
  int64_t keep_ = 0;
  int64_t keep_times_ = 0;
  bool timed_ = false;
  bool ordered_ = false;
};

// Current dimensions of a track's rows.
struct PaneShape {
  RowPool& pool;
  size_t columns;
  const PanePlan& plan;
};

}  // namespace pitwall::window
