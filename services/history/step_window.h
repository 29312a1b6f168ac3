// Steps of one interval of the history: its samples and, in a sealed window, summaries over all
// ranks, so that a view of a whole job need not read samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "services/base/status.h"
#include "services/model/position.h"

namespace pitwall::history {

struct SampleColumn;

// Persistent numbers: never reuse one.
enum class StepBasis : uint8_t { kDuration = 0, kOwn = 1 };
inline constexpr std::array<StepBasis, 2> kStepBases = {StepBasis::kDuration, StepBasis::kOwn};

// Steps per block, by level: blocks begin at multiples. Each divides the next.
inline constexpr std::array<int64_t, 2> kStepBlocks = {4, 16};

// Steps of a window over all ranks. Of a repeated step, the later run counts.
struct StepSummary {
  bool complete = true;         // false: a run has no own time; the other fields are empty
  std::vector<int64_t> ranks;   // ascending
  std::vector<int64_t> steps;   // ascending; each reported by at least one rank
  std::vector<double> medians;  // seconds of each step over the ranks that reported it; positive
  // Indexes of first and last steps, which other windows may also contain.
  std::vector<uint32_t> edges;
  std::vector<double> edge_seconds;  // by edge, then by rank; NaN: unknown
};
using StepSummaryPtr = std::shared_ptr<const StepSummary>;

// Slowdown of ranks in the non-edge steps of the same window.
struct StepBlocks {
  int64_t first = 0;  // number of the first block: its first step divided by its length
  size_t count = 0;
  // By rank, then by block: maximum of seconds / median over its steps; NaN: none reported.
  std::vector<double> slowdowns;
};
using StepBlocksPtr = std::shared_ptr<const StepBlocks>;

inline int64_t StepBlockOf(int64_t step, int64_t length) { return FloorTo(step, length) / length; }

// Valid during the call that receives it. Windows are in time order; a run of a step is in exactly
// one.
class StepWindow {
 public:
  virtual ~StepWindow() = default;
  // Null: no summary, or the query covers only part of the window.
  virtual StatusOr<StepSummaryPtr> Summary(StepBasis) const { return StepSummaryPtr(); }
  // Requires a summary with `complete`.
  virtual StatusOr<StepBlocksPtr> Blocks(StepBasis, size_t /*level*/) const {
    return StepBlocksPtr();
  }
  // Visits all selected samples, sorted by labels, in one or more parts.
  virtual Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const = 0;
};

}  // namespace pitwall::history
