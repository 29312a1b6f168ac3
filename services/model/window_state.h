// What a window keeps of each series, by kind and function: what estimates of memory are made of.
// The numbers are those of services/window (a test there compares them with what it allocates).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "services/model/demand.h"
#include "services/model/window_limits.h"

namespace pitwall {

// How the samples of a window are held.
enum class WindowStorage {
  kNewest,    // the newest sample only
  kPartials,  // a summary per pane, and about 2 sqrt(panes) merged ones
  kRanked,    // every sample in its pane, and those around a quantile's rank
  kSorted,    // every sample, in its pane and in a sorted array
  kSamples,   // every sample with its position, in order
  kFrozen,    // the first samples of the attempt, likewise
  kStates,    // the changes between zero and other values
  kSketch,    // counts of buckets, and the bucket of each sample
};

// One state family: functions of one family over one window share it.
struct WindowState {
  std::string_view family;
  WindowStorage storage = WindowStorage::kNewest;
  int64_t fields = 0;  // 8-byte cells of one partial
  bool timed = false;  // partials need positions
};

inline WindowState WindowStateOf(WindowKind kind, WindowFunction function) {
  const bool listed = kind == WindowKind::kSamples || kind == WindowKind::kFirst;
  const WindowStorage list =
      kind == WindowKind::kFirst ? WindowStorage::kFrozen : WindowStorage::kSamples;
  const WindowStorage storage = listed ? list : WindowStorage::kPartials;
  switch (function) {
    case WindowFunction::kLast:
    case WindowFunction::kTimestamp:
      return {"newest sample", WindowStorage::kNewest, 2, true};
    case WindowFunction::kSum:
    case WindowFunction::kAvg:
    case WindowFunction::kCount:
    case WindowFunction::kPresent:
      return {"sums", storage, 3, false};
    case WindowFunction::kStddev:
    case WindowFunction::kStdvar:
      return {"moments", storage, 3, false};
    case WindowFunction::kMin:
    case WindowFunction::kMax:
      return {"extremes", storage, 1, false};
    case WindowFunction::kLastOverTime:
    case WindowFunction::kFirstOverTime:
      return {"ends", storage, 1, false};
    case WindowFunction::kRate:
    case WindowFunction::kIncrease:
    case WindowFunction::kDelta:
    case WindowFunction::kTsOfFirst:
    case WindowFunction::kTsOfLast:
      return {"counter", storage, 6, true};
    case WindowFunction::kIrate:
    case WindowFunction::kIdelta:
      return {"last two", storage, 5, true};
    case WindowFunction::kResets:
    case WindowFunction::kChanges:
      return {"steps", storage, 5, false};
    case WindowFunction::kTsOfMin:
    case WindowFunction::kTsOfMax:
      return {"extremes with positions", storage, 2, true};
    case WindowFunction::kDeriv:
    case WindowFunction::kIntercept:
      return {"regression", storage, 8, true};
    case WindowFunction::kQuantile:
      return {"ordered", listed ? list : WindowStorage::kRanked, 0, false};
    case WindowFunction::kMad:
      return {"ordered", listed ? list : WindowStorage::kSorted, 0, false};
    case WindowFunction::kSketchQuantile:  // exact where the samples are at hand
      return {"sketch", listed ? list : WindowStorage::kSketch, 0, false};
    case WindowFunction::kShare:
      return {"states", WindowStorage::kStates, 0, false};
    case WindowFunction::kSmoothing:
    case WindowFunction::kOutlierPeriod:
    case WindowFunction::kOutliers:
    case WindowFunction::kRobustDeriv:
    case WindowFunction::kKendallTau:
    case WindowFunction::kHistogram:
      return {"samples", list, 0, true};
  }
  return {};
}

// Whether each sample of the window is kept by itself.
inline bool KeepsSamples(const WindowState& state) {
  return state.storage == WindowStorage::kRanked || state.storage == WindowStorage::kSorted ||
         state.storage == WindowStorage::kSamples || state.storage == WindowStorage::kFrozen;
}

// Bytes of one series. `panes`: of the window and its offset (WindowShape); `samples`: in the
// window and its offset. Without what all windows of a series share (its labels and places: some
// 300 bytes). Rows have next to no spare capacity, lists of samples up to twice what they hold;
// older panes of long windows are packed, to a fraction where values repeat.
inline double WindowStateBytes(const WindowState& state, double panes, double samples) {
  // Windows hold no more; a series with more has no result.
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
      // With an offset: a window of its own.
      return panes > 0 ? newest + panes * 2 * kCell : newest;
    }
    case WindowStorage::kPartials: {
      const double cells = static_cast<double>(state.fields);
      if (panes == 0) return kColumn + 2 * cells * kCell;  // everything so far, and the open pane
      const double sample = state.timed ? 2 * kCell : kCell;
      const double pane = per_pane <= 1 ? sample : cells * kCell;
      return kColumn + panes * pane + (panes > 1 ? 2 * std::sqrt(panes) + 2 : 1) * cells * kCell;
    }
    case WindowStorage::kRanked:
      return kColumn + 24 * kCell + kCell * 1.1 * samples;  // rows have some room to spare
    case WindowStorage::kSorted:
      return kColumn + 4 * kCell + kCell * samples + kCell * capacity(samples);
    case WindowStorage::kSketch: {
      constexpr double kEntry = 4, kBucket = 8, kBuckets = 704;  // of eleven powers of two
      return kColumn + 12 * kCell + kEntry * 1.25 * samples + kBucket * std::min(samples, kBuckets);
    }
    case WindowStorage::kStates:  // at worst every sample is another state
      return kColumn + 7 * kCell +
             5 * kCell * std::min(samples, 1.25 * static_cast<double>(kMaxKeptSamples));
    case WindowStorage::kFrozen:
      return kColumn + 5 * kCell + 2 * kCell * samples;
    case WindowStorage::kSamples: {
      constexpr double kSlack = 64;  // samples that may have left already
      return kColumn + 5 * kCell + 2 * kCell * capacity(samples + kSlack);
    }
  }
  return 0;
}

}  // namespace pitwall
