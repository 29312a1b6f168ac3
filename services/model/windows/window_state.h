// Window state per series, by kind and function. Memory estimates are based on this state. A test
// in services/window compares these numbers with actual allocations.
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

// Storage of a window's samples.
enum class WindowStorage {
  kNewest,    // the newest sample only
  kPartials,  // a summary per pane, and about 2 sqrt(panes) merged summaries
  kRanked,    // every sample in its pane, and the samples around a quantile's rank
  kSorted,    // every sample in its pane and in a sorted array
  kSamples,   // every sample with its position, in order
  kFrozen,    // the first samples of the attempt with positions, in order
  kStates,    // changes between zero and other values
  kSketch,    // bucket counts and the bucket of each sample
};

// State families: functions of the same family share their state over one window.
enum class StateFamily : uint8_t {
  kNone,
  kNewest,
  kSums,     // count and compensated sum
  kMoments,  // count, mean, and M2 (Welford; partials are merged by Chan's formula)
  kExtremes,
  kEnds,     // first and last sample
  kCounter,  // first and last samples with positions, and the correction for resets
  kLastTwo,
  kSteps,       // number of changes and resets
  kExtremesAt,  // extremes with their positions
  kRegression,  // least squares; partials are merged by Chan's formula
  kRanked,      // every sample, maintained around one rank
  kSorted,      // every sample, kept sorted
  kSketch,      // counts of logarithmic buckets
  kStates,      // periods in which the value was zero, nonzero, or unknown
  kSamples,     // every sample in order
};

struct WindowState {
  std::string_view family;
  WindowStorage storage = WindowStorage::kNewest;
  int64_t fields = 0;  // 8-byte cells per partial
  bool timed = false;  // partials contain positions
  // Costs in nanoseconds for one series, from the section "Each function" of docs/performance.md:
  // the higher of the values for 60 and 600 samples. `sample`: inserting into the window. `read`:
  // computing a result. `walk`: per read, for each sample in the window (for the family "samples",
  // the function's own cost in CostRow applies).
  double sample_ns = 0, read_ns = 0, walk_ns = 0;
};

// Families in the order of the enumerators. The storage applies to windows with panes.
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

// Returns the state that a window of this kind keeps for the functions of a family.
inline WindowState WindowStateOf(WindowKind kind, StateFamily family) {
  WindowState state = kStateFamilies[static_cast<size_t>(family)];
  if (state.storage == WindowStorage::kNewest || state.storage == WindowStorage::kStates)
    return state;
  // The window stores the samples, so sketches and quantiles are exact.
  if (kind == WindowKind::kSamples) state.storage = WindowStorage::kSamples;
  if (kind == WindowKind::kFirst) state.storage = WindowStorage::kFrozen;
  return state;
}

// Returns true if every sample in the window is kept individually.
inline bool KeepsSamples(const WindowState& state) {
  return state.storage == WindowStorage::kRanked || state.storage == WindowStorage::kSorted ||
         state.storage == WindowStorage::kSamples || state.storage == WindowStorage::kFrozen;
}

// Returns the estimated bytes for one series. `panes`: panes in the window and its offset
// (WindowShape). `samples`: samples in the window and its offset. Excludes the state shared by all
// windows of a series (its labels and indexes, about 300 bytes). Rows have little spare capacity.
// Lists of samples may use up to twice their size. Older panes of long windows are packed, which
// shrinks them to a fraction of their size if values repeat.
inline double WindowStateBytes(const WindowState& state, double panes, double samples) {
  // A series with more samples than this maximum has no result.
  if (KeepsSamples(state)) samples = std::min(samples, static_cast<double>(kMaxKeptSamples));
  if (state.storage == WindowStorage::kSketch)
    samples = std::min(samples, static_cast<double>(kMaxSketchSamples));
  constexpr double kCell = 8;
  constexpr double kColumn = 9;  // result: a double and a byte
  const auto capacity = [](double length) {
    const double most = std::clamp(length, 1.0, 0x1p52);
    return static_cast<double>(std::bit_ceil(static_cast<uint64_t>(std::ceil(most))));
  };
  const double per_pane = panes > 0 ? samples / panes : samples;
  switch (state.storage) {
    case WindowStorage::kNewest: {
      const double newest = 2 * kCell + kColumn;
      // A window with an offset has its own samples.
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
      constexpr double kEntry = 4, kBucket = 8, kBuckets = 704;  // buckets of eleven powers of two
      return kColumn + 12 * kCell + kEntry * 1.25 * samples + kBucket * std::min(samples, kBuckets);
    }
    case WindowStorage::kStates:  // in the worst case, every sample is a different state
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
