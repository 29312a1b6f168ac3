// Families: the monoids that window functions share. A partial is what a family keeps of a stretch
// of one series' samples; partials of neighboring stretches merge, earlier first. All functions of
// one family over one window read the same state.
//
// Merging is exact about who came first and has the empty partial as its neutral element to the
// bit, so a result depends on where the stretches are cut (at absolute multiples, see
// sliding_window.h), and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "services/model/windows/demand.h"

namespace pitwall::window {

enum class Family : uint8_t {
  kSums,     // sum, its Neumaier compensation, count
  kMoments,  // count, mean, sum of squared deviations
  kMin,
  kMax,
  kFirst,    // first sample
  kLast,     // last sample
  kCounter,  // first and last with their positions, count, sum of the values before resets
  kSteps,    // first and last, count, resets, changes
  kPair,     // the last two samples with their positions, count
  kLatest,   // last sample with its position, stale markers too: instant selectors with an offset
  kMinAt,    // least and greatest with their positions, the later one of equals
  kMaxAt,
  kRegression,  // count, means and co-moments of position and value, first sample, whether all
                // equal
  kOrdered,     // every sample, sorted (ordered_window.h): no partials
  kSamples,     // every sample, in order of position (sample_track.h): no partials
  kStates,      // stretches of time (state_track.h): no partials
  kSketch,      // counts of buckets (sketch_window.h): no partials
};
inline constexpr size_t kPartialFamilies = static_cast<size_t>(Family::kOrdered);

// What the functions need to know of the window besides its partial. Positions.
struct ReadContext {
  int64_t range_start = 0;  // open end; for kLatest where look-back begins
  int64_t range_end = 0;
  double range_seconds = 0;
  int64_t tick = 0;
};

// Row kernels of a family. Rows are `fields` arrays of `capacity` cells (row.h); they work on the
// first n cells. `values` and `times` are one sample per column, MissingValue() where there is
// none; `dense` says that none is missing. Outputs may not overlap inputs. No pointer may be
// null, except `times` where the family is not timed.
struct FamilyOps {
  uint32_t fields;
  bool timed;  // needs positions
  // out = a + one sample; out = one sample + b; out = a + b
  void (*append)(double* out, const double* a, const double* values, const int64_t* times,
                 size_t capacity, size_t n, bool dense);
  void (*prepend)(double* out, const double* values, const int64_t* times, const double* b,
                  size_t capacity, size_t n, bool dense);
  void (*merge)(double* out, const double* a, const double* b, size_t capacity, size_t n);
};
const FamilyOps& OpsOf(Family family);  // one with partials

// The function's value of the window a + b, per column.
using FinishKernel = void (*)(const double* a, const double* b, size_t capacity, size_t n,
                              const ReadContext& context, double* values, uint8_t* present);

// Which family and kernel serve a function; nothing for functions that this kind of window does not
// have.
struct FunctionPlan {
  Family family;
  FinishKernel finish;  // nullptr for families without partials
};
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function);
// Of a function that partials do not serve.
Family FamilyOfSamples(WindowFunction function);

// How many of n keys are below a, and below b: for sorted arrays that are short enough to be
// counted through.
using CountKernel = void (*)(const int64_t* keys, size_t n, int64_t a, int64_t b, size_t* below_a,
                             size_t* below_b);
CountKernel CountBelow();

}  // namespace pitwall::window
