// Contents of the panes of one track, and the number of panes for which it keeps each part. Both
// follow from the windows of the track.
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
  // Adds the needs of a window of this family that reaches `keep` panes behind the open one.
  void Add(Family family, int64_t keep);

  // Families that have partials, in order of first use: the order of DeepPane::partials.
  const std::vector<Family>& families() const { return families_; }
  // families().size() for a family that the plan lacks.
  size_t IndexOf(Family family) const;
  // Panes that are kept behind the open one: all, those with positions, those with the partials of
  // families()[index].
  int64_t keep() const { return keep_; }
  int64_t keep_times() const { return keep_times_; }
  int64_t keep_partials(size_t index) const { return keep_partials_[index]; }
  // Whether some family needs positions, and whether some window needs every sample.
  bool timed() const { return timed_; }
  bool ordered() const { return ordered_; }

  // Drops from a pane of the plan `before` all that this plan lacks.
  void Adapt(Pane& pane, const PanePlan& before) const;

 private:
  std::vector<Family> families_;
  std::vector<int64_t> keep_partials_;
  int64_t keep_ = 0;
  int64_t keep_times_ = 0;
  bool timed_ = false;
  bool ordered_ = false;
};

// Dimensions of the rows of one track at one moment.
struct PaneShape {
  RowPool& pool;
  size_t columns;
  const PanePlan& plan;
};

}  // namespace pitwall::window
