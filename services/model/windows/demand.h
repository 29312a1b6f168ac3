// A compiled program's demand for stored samples, and the view through which evaluation reads them.
//
// The plan defines the demands, and services/window incrementally maintains exactly the required
// state. rules/eval reads one column per demand and tick, with one virtual call per column instead
// of one per sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/position.h"
#include "services/model/windows/function.h"

namespace pitwall {

enum class WindowKind {
  kInstant,  // the newest sample at or before the tick, if within look-back and not stale
  kTime,     // all samples in (tick - offset - range, tick - offset]
  // The last N samples since the series appeared. A stale marker or a gap at least as long as the
  // look-back ends the series.
  kSamples,
  kAttempt,  // all samples since the start of the attempt
  // The first N non-NaN samples of the attempt, after skipping `skip` samples. Empty until there
  // are N samples.
  kFirst,
};

// Requested column. Equal keys mean equal state, so sharing and hot reload use the key.
struct Demand {
  uint32_t selector = 0;  // index into DemandSet::selectors
  WindowKind kind = WindowKind::kInstant;
  WindowFunction function = WindowFunction::kLast;
  int64_t range = 0;   // in position units; kSamples, kFirst: number of samples; 0 for kInstant
  int64_t skip = 0;    // kFirst only
  int64_t offset = 0;  // >= 0
  // Evaluation interval of the group. It determines the panes (pane_grid.h).
  int64_t interval = 0;
  int64_t lookback = 0;    // kInstant, kSamples, and kShare only
  bool align_job = false;  // ticks and panes are aligned to the job's origin instead of the epoch
  // Canonical text of the function's scalar arguments, or "". The arguments are passed to each
  // read. Different arguments produce different columns over the same window.
  std::string arguments;

  // Returns the key without the function. Demands with equal window keys can share panes.
  std::string WindowKey(const Selector& s) const;
  std::string Key(const Selector& s) const;
};

// Clock that positions the samples. Time clock: all samples, at their times. Step clock: samples
// with a step of `mode`, at their steps.
struct ClockSpec {
  bool step = false;
  std::string mode;  // step clock only
  friend auto operator<=>(const ClockSpec&, const ClockSpec&) = default;
  std::string ToString() const { return step ? "step:" + mode : "time"; }
};

// All demands on one clock. Immutable once passed to the window.
struct DemandSet {
  ClockSpec clock;
  std::vector<Selector> selectors;
  std::vector<Demand> demands;
};

// Returns the number of values per series in a read with this many arguments.
inline size_t ValuesPerSeries(WindowFunction function, size_t arguments) {
  return function == WindowFunction::kHistogram ? arguments + 1 : 1;
}

// One value, or ValuesPerSeries consecutive values, for each series of the demand's selector, in
// the selector's series order. If present[i] is 0, the values of series i are undefined. Valid
// until the next call that changes the store.
struct Column {
  std::span<const double> values;
  std::span<const uint8_t> present;
};

// View of a job's samples on one clock at a given tick.
class ColumnView {
 public:
  virtual ~ColumnView() = default;
  // Returns a number that increases with every change to Series(selector). Bindings from another
  // generation are invalid.
  virtual uint64_t Generation(uint32_t selector) const = 0;
  // Returns all series in the store that match the selector, even those not present at the tick, in
  // unspecified order. (Evaluation sorts them when it binds.)
  virtual std::span<const Labels* const> Series(uint32_t selector) const = 0;
  // Reads a column. `arguments`: as defined by the demand's function.
  virtual Column Read(uint32_t demand, std::span<const double> arguments) = 0;
  Column Read(uint32_t demand) { return Read(demand, {}); }
};

}  // namespace pitwall
