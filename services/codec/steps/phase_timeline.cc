#include "services/codec/steps/phase_timeline.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace pitwall::steps {

void PhaseTimeline::AddSpan(int phase, int64_t start_ns, int64_t end_ns) {
  if (end_ns > start_ns) spans_.push_back({start_ns, end_ns, phase});
}

void PhaseTimeline::SetCurrent(int phase, int64_t since_ns) {
  current_ = phase;
  since_ns_ = since_ns;
}

std::vector<PhaseChange> PhaseTimeline::Take(int64_t floor_ns) {
  constexpr int64_t kOpen = INT64_MAX;
  std::vector<Interval> intervals = std::move(spans_);
  spans_.clear();
  if (current_ != kNoPhase) intervals.push_back({since_ns_, kOpen, current_});

  struct Boundary {
    int64_t time_ns;
    bool begins;
    size_t interval;
  };
  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    boundaries.push_back({intervals[i].start_ns, true, i});
    if (intervals[i].end_ns != kOpen) boundaries.push_back({intervals[i].end_ns, false, i});
  }
  std::sort(boundaries.begin(), boundaries.end(), [](const Boundary& a, const Boundary& b) {
    return std::tie(a.time_ns, a.begins, a.interval) < std::tie(b.time_ns, b.begins, b.interval);
  });

  // Orders open intervals so that the innermost is last: the one that started last or, if several
  // started together, the one that ends first.
  using Nesting = std::tuple<int64_t, int64_t, size_t>;
  auto nesting = [&](size_t i) { return Nesting(intervals[i].start_ns, -intervals[i].end_ns, i); };
  std::set<Nesting> open;
  std::vector<PhaseChange> changes;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const Boundary& boundary = boundaries[i];
    if (boundary.begins) {
      open.insert(nesting(boundary.interval));
    } else {
      open.erase(nesting(boundary.interval));
    }
    if (i + 1 < boundaries.size() && boundaries[i + 1].time_ns == boundary.time_ns) continue;
    const int phase = open.empty() ? kNoPhase : intervals[std::get<2>(*open.rbegin())].phase;
    // A boundary in the past determines only the current state. The change is emitted at the
    // earliest time that can still be emitted.
    const int64_t at = std::max({boundary.time_ns, floor_ns + 1, emitted_until_ns_ + 1});
    if (!changes.empty() && changes.back().time_ns == at) {
      changes.back().phase = phase;
    } else {
      changes.push_back({at, phase});
    }
  }
  // Without boundaries, no phase is running.
  if (boundaries.empty() && running_ != kNoPhase) {
    changes.push_back({std::max(floor_ns, emitted_until_ns_) + 1, kNoPhase});
  }
  int before = running_;
  std::erase_if(changes, [&before](const PhaseChange& change) {
    const bool same = change.phase == before;
    before = change.phase;
    return same;
  });
  if (!changes.empty()) {
    running_ = changes.back().phase;
    emitted_until_ns_ = changes.back().time_ns;
  }
  return changes;
}

void DropShortLived(int64_t min_ns, int* phase, std::vector<PhaseChange>* changes) {
  size_t kept = 0;
  for (size_t i = 0; i < changes->size(); ++i) {
    const PhaseChange change = (*changes)[i];
    if (i + 1 < changes->size() && (*changes)[i + 1].time_ns - change.time_ns < min_ns) continue;
    if (change.phase == *phase) continue;
    *phase = change.phase;
    (*changes)[kept++] = change;
  }
  changes->resize(kept);
}

}  // namespace pitwall::steps
