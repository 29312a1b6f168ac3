// Steps in one interval of the history: the samples and, for a sealed window, summaries over all
// ranks. With summaries, a view of a whole job can skip reading samples.
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

// The numbers are stored in files and must not be reused.
enum class StepBasis : uint8_t { kDuration = 0, kOwn = 1 };
inline constexpr std::array<StepBasis, 2> kStepBases = {StepBasis::kDuration, StepBasis::kOwn};

// Number of steps per block, by level. Blocks start at multiples of their length, and each length
// divides the next one.
inline constexpr std::array<int64_t, 2> kStepBlocks = {4, 16};

// Steps in a window, over all ranks. If a step was repeated, its later run is used.
struct StepSummary {
  bool complete = true;        // false if a run has no own time; the other fields are then empty
  std::vector<int64_t> ranks;  // ascending
  std::vector<int64_t> steps;  // ascending; each step was reported by at least one rank
  // Median duration of each step in seconds, over the ranks that reported the step. Always
  // positive.
  std::vector<double> medians;
  // Indexes of the first and last steps, which the adjacent windows may also contain.
  std::vector<uint32_t> edges;
  std::vector<double> edge_seconds;  // by edge, then by rank; NaN if unknown
};
using StepSummaryPtr = std::shared_ptr<const StepSummary>;

// Slowdowns of the ranks in the window's steps, except for edge steps.
struct StepBlocks {
  int64_t first = 0;  // number of the first block (its first step divided by the block length)
  size_t count = 0;
  // Maximum of duration / median over the steps in a block, by rank and then by block. NaN if the
  // rank reported no step in the block.
  std::vector<double> slowdowns;
};
using StepBlocksPtr = std::shared_ptr<const StepBlocks>;

inline int64_t StepBlockOf(int64_t step, int64_t length) { return FloorTo(step, length) / length; }

// Window of steps, valid only during the visit that receives it. Windows are visited in time order,
// and each run of a step is in exactly one window.
class StepWindow {
 public:
  virtual ~StepWindow() = default;
  // Returns nullptr if the window has no summary or the query covers only part of the window.
  virtual StatusOr<StepSummaryPtr> Summary(StepBasis) const { return StepSummaryPtr(); }
  // Returns blocks of the summary. The summary must have `complete` set.
  virtual StatusOr<StepBlocksPtr> Blocks(StepBasis, size_t /*level*/) const {
    return StepBlocksPtr();
  }
  // Visits all selected samples, sorted by labels, in one or more parts.
  virtual Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const = 0;
};

}  // namespace pitwall::history
