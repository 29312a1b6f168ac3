// Steps of one interval of the history: its samples, and where a sealed window
// has them, sums of all ranks, so that a view of a whole job need not read its samples.
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

// Numbers are in files: never reuse one.
enum class StepBasis : uint8_t { kDuration = 0, kOwn = 1 };
inline constexpr std::array<StepBasis, 2> kStepBases = {StepBasis::kDuration, StepBasis::kOwn};

// Steps of a block, by level: blocks begin at multiples. Each divides the next.
inline constexpr std::array<int64_t, 2> kStepBlocks = {4, 16};

// The steps of a window over all ranks. Of a step that was run again the later run counts.
struct StepSummary {
  bool told = true;             // false: a run does not tell its own time; the rest is empty
  std::vector<int64_t> ranks;   // ascending
  std::vector<int64_t> steps;   // ascending; each is told by at least one rank
  std::vector<double> medians;  // seconds of each step over the ranks that tell it; above 0
  // Indexes of first and last steps, which other windows may tell too.
  std::vector<uint32_t> edges;
  std::vector<double> edge_seconds;  // by edge, then by rank; NaN: not told
};
using StepSummaryPtr = std::shared_ptr<const StepSummary>;

// Of the same window how slow ranks were in its steps that are no edges.
struct StepBlocks {
  int64_t first = 0;  // number of the first block: its first step by its length
  size_t count = 0;
  // By rank, then by block: the greatest seconds / median of its steps; NaN: none is told.
  std::vector<double> slowdowns;
};
using StepBlocksPtr = std::shared_ptr<const StepBlocks>;

inline int64_t StepBlockOf(int64_t step, int64_t length) { return FloorTo(step, length) / length; }

// As long as the call that hands it out. Windows are in the order of time; a run of a step is in
// one only.
class StepWindow {
 public:
  virtual ~StepWindow() = default;
  // Null: there is none, or the question wants a part of the window's time.
  virtual StatusOr<StepSummaryPtr> Summary(StepBasis) const { return StepSummaryPtr(); }
  // Where there is a summary that is told.
  virtual StatusOr<StepBlocksPtr> Blocks(StepBasis, size_t /*level*/) const {
    return StepBlocksPtr();
  }
  // All that the question wants, sorted by labels, in one part or several.
  virtual Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const = 0;
};

}  // namespace pitwall::history
