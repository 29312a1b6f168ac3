// Computation, writing, and reading of a window's step summary.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/history/segments/segment_builder.h"

namespace pitwall::history {

// Below this number of step runs, reading samples is as fast.
inline constexpr size_t kMinSummedRuns = 4096;

// Receives the tables of a window in sequence, and keeps only the series needed for steps. Not
// thread-safe.
class StepSummaries {
 public:
  // `modes`: of all tables; must outlive it.
  explicit StepSummaries(const ModeNames* modes) : modes_(*modes) {}
  void Add(const RowTable& rows);
  // Call after the last table. Fills facts->steps.
  Status Write(SegmentBuilder* w, SegmentMeta* facts);

 private:
  struct Extent {
    int64_t least = INT64_MAX;
    int64_t greatest = INT64_MIN;
    size_t rows = 0;
  };
  const ModeNames& modes_;
  std::map<int64_t, Extent> extents_;  // by mode, over rows with a step
  std::vector<RowTable> tables_;       // with only the series needed for steps
};

// Reads a page of a segment's file without opening the segment. DataLoss: damaged or missing.
StatusOr<StepSummaryPtr> ReadStepSummary(const std::string& path, const store::Page& page);
// Reads blocks of that summary.
StatusOr<StepBlocksPtr> ReadStepBlocks(const std::string& path, const store::Page& page,
                                       const StepSummary& summary);
size_t BytesOf(const StepSummary& summary);
size_t BytesOf(const StepBlocks& blocks);

}  // namespace pitwall::history
