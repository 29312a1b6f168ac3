// State of a window per series, by kind and function: the basis of memory estimates. A test in
// services/window compares these numbers with its allocations.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "services/model/windows/demand.h"
#include "services/model/windows/window_limits.h"

namespace pitwall {

// Storage of the samples of a window.
enum class WindowStorage {
  kNewest,    // the newest sample only
  kPartials,  // a summary per pane, and about 2 sqrt(panes) merged ones
  kRanked,    // every sample in its pane, and those around a quantile's rank
  kSorted,    // every sample, in its pane and in a sorted array
  kSamples,   // every sample with its position, in order
  kFrozen,    // the first samples of the attempt, with positions, in order
  kStates,    // the changes between zero and other values
  kSketch,    // counts of buckets, and the bucket of each sample
};

// State families: functions of one family share their state over one window.
enum class StateFamily : uint8_t {
  kNone,
  kNewest,
  kSums,     // count, compensated sum
  kMoments,  // count, mean, M2 (Welford; partials merged by Chan's formula)
  kExtremes,
  kEnds,     // first and last sample
  kCounter,  // ends with their positions, correction of resets
  kLastTwo,
  kSteps,       // number of changes and resets
  kExtremesAt,  // extremes with their positions
  kRegression,  // least squares, merged by Chan's formula
  kRanked,      // every sample, around one rank
  kSorted,      // every sample, sorted
  kSketch,      // counts of logarithmic buckets
  kStates,      // periods in which the value was zero, non-zero, or unknown
  kSamples,     // every sample in order
};

struct WindowState {
  std::string_view family;
  WindowStorage storage = WindowStorage::kNewest;
  int64_t fields = 0;  // 8-byte cells of one partial
  bool timed = false;  // partials need positions
  // Nanoseconds of one series, from the table "Each function" of docs/performance.md: the maximum
  // of 60 and 600 samples. `sample`: insertion into the window; `read`: a result; `walk`: per
  // sample of the window and read (of the family "samples": the function's own, CostRow).
  double sample_ns = 0, read_ns = 0, walk_ns = 0;
};

// In the order of the enumerators; storage: in panes.
inline constexpr WindowState kStateFamilies[] = {
    {},
    {"newest sample", WindowStorage::kNewest, 2, true, 2.3, 1.0},
    {"sums", WindowStorage::kPartials, 3, false, 9.6, 2.3},
    {"moments", WindowStorage::kPartials, 3, false, 8.5, 2.4},
    {"extremes", WindowStorage::kPartials, 1, false, 6.8, 1.0},
    {"ends", WindowStorage::kPartials, 1, false, 8.5, 1.1},
    {"counter", WindowStorage::kPartials, 6, true, 12.4, 6.3},
    {"last two", WindowStorage::kPartials, 5, true, 11.2, 3.7},
    {"steps", WindowStorage::kPartials, 5, false, 12.0, 3.9},
    {"extremes with positions", WindowStorage::kPartials, 2, true, 8.8, 3.2},
    {"regression", WindowStorage::kPartials, 8, true, 15.4, 8.2},
    {"ordered", WindowStorage::kRanked, 0, false, 9.8, 32.0},
    {"ordered", WindowStorage::kSorted, 0, false, 9.8, 1.0, 6.0},
    {"sketch", WindowStorage::kSketch, 0, false, 79.3, 82.3},
    {"states", WindowStorage::kStates, 0, false, 7.9, 10.6},
    {"samples", WindowStorage::kSamples, 0, true, 53.0, 10.0},
};
static_assert(std::size(kStateFamilies) == static_cast<size_t>(StateFamily::kSamples) + 1,
              "each state family has its row");

constexpr bool HasPartials(StateFamily family) {
  return kStateFamilies[static_cast<size_t>(family)].storage == WindowStorage::kPartials;
}

// Returns the state that a window of this kind keeps for functions of a family.
inline WindowState WindowStateOf(WindowKind kind, StateFamily family) {
  WindowState state = kStateFamilies[static_cast<size_t>(family)];
  if (state.storage == WindowStorage::kNewest || state.storage == WindowStorage::kStates)
    return state;
  // The samples are available: sketches and quantiles are exact.
  if (kind == WindowKind::kSamples) state.storage = WindowStorage::kSamples;
  if (kind == WindowKind::kFirst) state.storage = WindowStorage::kFrozen;
  return state;
}

// Returns true if every sample of the window is kept individually.
inline bool KeepsSamples(const WindowState& state) {
  return state.storage == WindowStorage::kRanked || state.storage == WindowStorage::kSorted ||
         state.storage == WindowStorage::kSamples || state.storage == WindowStorage::kFrozen;
}

// Returns the bytes of one series. `panes`: of the window and its offset (WindowShape); `samples`:
// in the window and its offset. Excludes the state shared by all windows of a series (its labels
// and indexes: about 300 bytes). Rows have little spare capacity, lists of samples up to twice
// their size; older panes of long windows are packed, to a fraction if values repeat.
inline double WindowStateBytes(const WindowState& state, double panes, double samples) {
  // Maximum of a window; a series with more has no result.
  if (KeepsSamples(state)) samples = std::min(samples, static_cast<double>(kMaxKeptSamples));
  if (state.storage == WindowStorage::kSketch)
    samples = std::min(samples, static_cast<double>(kMaxSketchSamples));
  constexpr double kCell = 8;
  constexpr double kColumn = 9;  // the result: a double and a byte
  const auto capacity = [](double length) {
    const double most = std::clamp(length, 1.0, 0x1p52);
    return static_cast<double>(std::bit_ceil(static_cast<uint64_t>(std::ceil(most))));
  };
  const double per_pane = panes > 0 ? samples / panes : samples;
  switch (state.storage) {
    case WindowStorage::kNewest: {
      const double newest = 2 * kCell + kColumn;
      // With an offset: a separate window.
      return panes > 0 ? newest + panes * 2 * kCell : newest;
    }
    case WindowStorage::kPartials: {
      const double cells = static_cast<double>(state.fields);
      if (panes == 0)
        return kColumn + 2 * cells * kCell;  // all previous samples, and the open pane
      const double sample = state.timed ? 2 * kCell : kCell;
      const double pane = per_pane <= 1 ? sample : cells * kCell;
      return kColumn + panes * pane + (panes > 1 ? 2 * std::sqrt(panes) + 2 : 1) * cells * kCell;
    }
    case WindowStorage::kRanked:
      return kColumn + 24 * kCell + kCell * 1.1 * samples;  // rows have some spare capacity
    case WindowStorage::kSorted:
      return kColumn + 4 * kCell + kCell * samples + kCell * capacity(samples);
    case WindowStorage::kSketch: {
      constexpr double kEntry = 4, kBucket = 8, kBuckets = 704;  // of eleven powers of two
      return kColumn + 12 * kCell + kEntry * 1.25 * samples + kBucket * std::min(samples, kBuckets);
    }
    case WindowStorage::kStates:  // at worst, every sample is another state
      return kColumn + 7 * kCell +
             5 * kCell * std::min(samples, 1.25 * static_cast<double>(kMaxKeptSamples));
    case WindowStorage::kFrozen:
      return kColumn + 5 * kCell + 2 * kCell * samples;
    case WindowStorage::kSamples: {
      constexpr double kSlack = 64;  // samples that may have expired
      return kColumn + 5 * kCell + 2 * kCell * capacity(samples + kSlack);
    }
  }
  return 0;
}

}  // namespace pitwall
