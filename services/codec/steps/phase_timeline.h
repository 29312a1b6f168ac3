// Timeline of phases. Converts phase spans and the current phase into changes of a single state.
#pragma once

#include <cstdint>
#include <vector>

namespace pitwall::steps {

// Change of the running phase at `time_ns`; kNoPhase means that no phase is running.
struct PhaseChange {
  int64_t time_ns = 0;
  int phase = -1;
  friend bool operator==(const PhaseChange&, const PhaseChange&) = default;
};
inline constexpr int kNoPhase = -1;

// Merges spans and the open phase into one timeline. Phases may nest. The phase that started last
// is the running phase. A span is added when the phase ends, and SetCurrent sets the open phase.
// Changes at or before the last time returned by Take are not emitted again. Not thread-safe.
class PhaseTimeline {
 public:
  void AddSpan(int phase, int64_t start_ns, int64_t end_ns);
  void SetCurrent(int phase, int64_t since_ns);

  // Returns the changes since the last call, in ascending time order and after `floor_ns`.
  // Consecutive changes have different phases, and the first differs from the phase at the end of
  // the previous call.
  std::vector<PhaseChange> Take(int64_t floor_ns);
  // Phase after the last change that Take returned.
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
  int64_t emitted_until_ns_ = INT64_MIN;
};

// Removes changes that last less than `min_ns` (except the last one), and then changes that repeat
// the previous phase. `*phase` is the phase before the changes, and on return the phase after them.
void DropShortLived(int64_t min_ns, int* phase, std::vector<PhaseChange>* changes);

}  // namespace pitwall::steps
