#include "services/codec/imports/traces/intervals.h"

#include <algorithm>

namespace pitwall::imports {

std::vector<Interval> Merge(std::vector<Interval> intervals, int64_t gap_ns) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (interval.end_ns <= interval.start_ns) continue;
    if (!merged.empty() && interval.start_ns <= merged.back().end_ns + gap_ns) {
      merged.back().end_ns = std::max(merged.back().end_ns, interval.end_ns);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

std::vector<Interval> Within(const std::vector<Interval>& merged, int64_t start_ns,
                             int64_t end_ns) {
  std::vector<Interval> within;
  auto it = std::partition_point(merged.begin(), merged.end(), [&](const Interval& interval) {
    return interval.end_ns <= start_ns;
  });
  for (; it != merged.end() && it->start_ns < end_ns; ++it)
    within.push_back({std::max(it->start_ns, start_ns), std::min(it->end_ns, end_ns)});
  return within;
}

int64_t Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  int64_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t begin = std::max(a[i].start_ns, b[j].start_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    both += std::max<int64_t>(end - begin, 0);
    (a[i].end_ns < b[j].end_ns ? i : j) += 1;
  }
  return both;
}

int64_t Length(const std::vector<Interval>& merged) {
  int64_t length = 0;
  for (const Interval& interval : merged) length += interval.end_ns - interval.start_ns;
  return length;
}

}  // namespace pitwall::imports
