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

// Phases may nest: the one that began last runs. Spans become known when they end, an open phase by
// SetCurrent; a change at or before what was taken before is part of the past and not told again.
// Not thread-safe.
class PhaseTimeline {
 public:
  void AddSpan(int phase, int64_t start_ns, int64_t end_ns);
  void SetCurrent(int phase, int64_t since_ns);

  // The changes since the last call, ascending in time, at times after `floor_ns`. Two neighbors
  // never have the same phase, and the first differs from what ran at the end of the call before.
  std::vector<PhaseChange> Take(int64_t floor_ns);
  // What runs after the last change taken.
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

// Takes out changes that hold for less than `min_ns` (the last one stays), and then those that
// change nothing.
// `*phase`: what held before; afterwards what holds after them.
void DropShortLived(int64_t min_ns, int* phase, std::vector<PhaseChange>* changes);

}  // namespace pitwall::steps
