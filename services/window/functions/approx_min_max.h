// Least and greatest value of a sliding window, to within kExtremeSlack of the truth and never
// beyond it: what an approximate result of the window may be clamped to. Private to sketch_window.
#pragma once

#include <cstdint>
#include <deque>

#include "services/base/binary.h"

namespace pitwall::window {

// |greatest() − true greatest| ≤ kExtremeSlack · |greatest()|, and the same of the least. Below
// kSketchError, so that a clamped result keeps the sketch's error.
inline constexpr double kExtremeSlack = 1.0 / 256;

// Candidates for the greatest value, newest last, as a monotonic queue: a value that is not less
// than older ones replaces them. Values within kExtremeSlack of each other share a candidate, the
// newest and smallest of them, so a window holds some 180 of them for each doubling of its values
// at most, however many samples it has.
class NearGreatest {
 public:
  // In order of panes. NaN is not a value.
  void Push(int64_t pane, double value);
  // Forgets what lies before the pane.
  void DropBefore(int64_t pane);
  // Keeps the greatest alone: for windows that nothing leaves.
  void KeepGreatest();
  bool empty() const { return candidates_.empty(); }
  double value() const { return candidates_.front().value; }

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in);
  size_t MemoryBytes() const { return candidates_.size() * sizeof(Candidate); }

 private:
  struct Candidate {
    int64_t pane = 0;
    double value = 0;
    double greatest = 0;  // of those that it represents
  };
  std::deque<Candidate> candidates_;  // values fall from front to back
};

// Both ends of a window.
class ApproxMinMax {
 public:
  void Push(int64_t pane, double value) {
    greatest_.Push(pane, value);
    negated_.Push(pane, -value);
  }
  void DropBefore(int64_t pane) {
    greatest_.DropBefore(pane);
    negated_.DropBefore(pane);
  }
  void KeepEnds() {
    greatest_.KeepGreatest();
    negated_.KeepGreatest();
  }
  // `value` if it lies between the ends, else the nearer end. NaN, and any value of an empty
  // window, stays.
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
