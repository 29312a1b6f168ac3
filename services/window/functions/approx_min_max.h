// Minimum and maximum of a sliding window with a relative error of at most kExtremeSlack. The
// result is never outside the true range, so approximate results of the window can be clamped to
// it. Private to sketch_window.
#pragma once

#include <cstdint>
#include <deque>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {

// |greatest() − true maximum| ≤ kExtremeSlack · |greatest()|, and likewise for the minimum. The
// slack is lower than kSketchError, so clamping does not increase the sketch's error.
inline constexpr double kExtremeSlack = 1.0 / 256;

// Candidates for the maximum, kept as a monotonic queue with the newest last. A new value replaces
// earlier values that are not greater. Values within kExtremeSlack of each other share a candidate:
// the newest of them, which is also the smallest. A window therefore has at most about 180
// candidates per power of two in the range of its values, regardless of the number of samples.
class NearGreatest {
 public:
  // Adds a value. Values must be added in pane order; NaN is ignored.
  void Push(PaneIndex pane, double value);
  // Removes the values in panes before `pane`.
  void DropBefore(PaneIndex pane);
  // Keeps only the maximum. For windows that never remove values.
  void KeepGreatest();
  bool empty() const { return candidates_.empty(); }
  double value() const { return candidates_.front().value; }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in);
  size_t MemoryBytes() const { return candidates_.size() * sizeof(Candidate); }

 private:
  struct Candidate {
    PaneIndex pane;
    double value = 0;
    double greatest = 0;  // maximum of the values that this candidate represents
  };
  std::deque<Candidate> candidates_;  // values decrease from front to back
};

// Approximate minimum and maximum of a window.
class ApproxMinMax {
 public:
  void Push(PaneIndex pane, double value) {
    greatest_.Push(pane, value);
    negated_.Push(pane, -value);
  }
  void DropBefore(PaneIndex pane) {
    greatest_.DropBefore(pane);
    negated_.DropBefore(pane);
  }
  void KeepEnds() {
    greatest_.KeepGreatest();
    negated_.KeepGreatest();
  }
  // Returns `value` clamped to the window's range. NaN is returned unchanged, and so is any value
  // if the window is empty.
  double Clamp(double value) const;

  void Save(BinaryWriter& out) const {
    greatest_.Save(out);
    negated_.Save(out);
  }
  void Load(BinaryReader& in) {
    greatest_.Load(in);
    negated_.Load(in);
  }
  size_t MemoryBytes() const { return greatest_.MemoryBytes() + negated_.MemoryBytes(); }

 private:
  NearGreatest greatest_, negated_;
};

}  // namespace pitwall::window
