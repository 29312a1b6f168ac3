// Computation, writing, and reading of a window's step summary.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/history/segments/segment_builder.h"

namespace pitwall::history {

// Minimum number of step runs for a summary. With fewer runs, reading samples is just as fast.
inline constexpr size_t kMinSummedRuns = 4096;

// Builder for step summaries. It receives a window's tables one after another and keeps only the
// series needed for steps. Not thread-safe.
class StepSummaries {
 public:
  // `modes` covers all tables and must outlive this object.
  explicit StepSummaries(const ModeNames* modes) : modes_(*modes) {}
  void Add(const RowTable& rows);
  // Writes the summary and fills facts->steps. Call this after the last table.
  Status Write(SegmentBuilder* w, SegmentMeta* facts);

 private:
  struct Extent {
    int64_t least = INT64_MAX;
    int64_t greatest = INT64_MIN;
    size_t rows = 0;
  };
  const ModeNames& modes_;
  std::map<int64_t, Extent> extents_;  // by mode, over rows that have a step
  std::vector<RowTable> tables_;       // contain only the series that are needed for steps
};

// Reads a page of a segment file without opening the segment. Returns DataLoss if the file is
// damaged or missing.
StatusOr<StepSummaryPtr> ReadStepSummary(const std::string& path, const store::Page& page);
// Reads a page of blocks that belongs to the summary.
StatusOr<StepBlocksPtr> ReadStepBlocks(const std::string& path, const store::Page& page,
                                       const StepSummary& summary);
size_t BytesOf(const StepSummary& summary);
size_t BytesOf(const StepBlocks& blocks);

}  // namespace pitwall::history
