// Timeline of phases: turns phase spans and the running phase into changes of one state.
#pragma once

#include <cstdint>
#include <vector>

namespace pitwall::steps {

// From `time_ns` on `phase` runs (kNoPhase: none).
struct PhaseChange {
  int64_t time_ns = 0;
  int phase = -1;
  friend bool operator==(const PhaseChange&, const PhaseChange&) = default;
};
inline constexpr int kNoPhase = -1;

// Phases may nest; the one that began last runs. Spans become known when they end, an open phase by
// SetCurrent. Changes at or before the last taken time are not emitted again. Not thread-safe.
class PhaseTimeline {
 public:
  void AddSpan(int phase, int64_t start_ns, int64_t end_ns);
  void SetCurrent(int phase, int64_t since_ns);

  // Returns the changes since the last call, ascending in time and after `floor_ns`. Neighbors
  // never have the same phase, and the first differs from the phase at the end of the previous
  // call.
  std::vector<PhaseChange> Take(int64_t floor_ns);
  // Phase after the last change taken.
  int running() const { return running_; }

 private:
  struct Interval {
    int64_t start_ns;
    int64_t end_ns;
    int phase;
  };

  std::vector<Interval> spans_;
  int current_ = kNoPhase;
  int64_t since_ns_ = 0;
  int running_ = kNoPhase;
  int64_t told_until_ns_ = INT64_MIN;
};

// Removes changes that last less than `min_ns` (except the last one), and then those that change
// nothing. `*phase` is the phase before the changes, and on return the phase after them.
void DropShortLived(int64_t min_ns, int* phase, std::vector<PhaseChange>* changes);

}  // namespace pitwall::steps
