// Families: the monoids that window functions share. A partial is the state that a family keeps for
// a stretch of one series' samples. Partials of adjacent stretches are merged, the earlier one
// first. All functions of one family over one window read the same state.
//
// Merging preserves the order of samples exactly, and the empty partial is a bit-exact neutral
// element. A result therefore depends only on the samples and on the positions at which the
// stretches are cut (fixed positions, see sliding_window.h).
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
  kCounter,  // first and last with positions, count, sum of the values before resets
  kSteps,    // first and last, count, resets, and changes
  kPair,     // the last two samples with positions, count
  kLatest,   // last sample or stale marker, with position; for instant selectors with an offset
  kMinAt,    // minimum or maximum with its position; the later of equal values
  kMaxAt,
  // Count, means and co-moments of position and value, first sample, and whether all values are
  // equal.
  kRegression,
  kOrdered,  // every sample, sorted (ordered_window.h); no partials
  kSamples,  // every sample, in order of position (sample_track.h); no partials
  kStates,   // stretches of time (state_track.h); no partials
  kSketch,   // bucket counts (sketch_window.h); no partials
};
inline constexpr size_t kPartialFamilies = static_cast<size_t>(Family::kOrdered);

// Window properties that the functions need in addition to the partial. All values are positions.
struct ReadContext {
  int64_t range_start = 0;  // exclusive start; for kLatest, start of the look-back period
  int64_t range_end = 0;
  double range_seconds = 0;
  int64_t tick = 0;
};

// Row kernels of a family. Rows consist of `fields` arrays of `capacity` cells (row.h). The kernels
// process the first n cells. `values` and `times` contain one sample per column, or MissingValue().
// `dense` means that no sample is missing. Outputs must not overlap inputs. Pointers must not be
// null, except `times` if the family is not timed.
struct FamilyOps {
  uint32_t fields;
  bool timed;  // whether the family needs positions
  // out = a + one sample; out = one sample + b; out = a + b.
  void (*append)(double* out, const double* a, const double* values, const int64_t* times,
                 size_t capacity, size_t n, bool dense);
  void (*prepend)(double* out, const double* values, const int64_t* times, const double* b,
                  size_t capacity, size_t n, bool dense);
  void (*merge)(double* out, const double* a, const double* b, size_t capacity, size_t n);
};
const FamilyOps& OpsOf(Family family);  // must be a family that has partials

// Computes the function's value for the window a + b, per column.
using FinishKernel = void (*)(const double* a, const double* b, size_t capacity, size_t n,
                              const ReadContext& context, double* values, uint8_t* present);

// Family and kernel that implement a function. A function that the window's kind does not support
// has no plan.
struct FunctionPlan {
  Family family;
  FinishKernel finish;  // nullptr for families that have no partials
};
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function);
// Returns the family of a function that cannot be computed from partials.
Family FamilyOfSamples(WindowFunction function);

// Counts the keys below a and the keys below b among n sorted keys. For arrays that are short
// enough to scan.
using CountKernel = void (*)(const int64_t* keys, size_t n, int64_t a, int64_t b, size_t* below_a,
                             size_t* below_b);
CountKernel CountBelow();

}  // namespace pitwall::window
