// Sets of points in time, represented as sorted intervals that neither overlap nor touch.
#pragma once

#include <cstdint>
#include <vector>

namespace pitwall::imports {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Sorts intervals and merges those at most `gap_ns` apart. Drops empty intervals.
std::vector<Interval> Merge(std::vector<Interval> intervals, int64_t gap_ns = 0);
// Returns the parts of merged intervals within [start_ns, end_ns).
std::vector<Interval> Within(const std::vector<Interval>& merged, int64_t start_ns, int64_t end_ns);
// Returns the total length of the intersection of two merged sets.
int64_t Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b);
int64_t Length(const std::vector<Interval>& merged);

}  // namespace pitwall::imports
