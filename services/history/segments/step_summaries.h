// Makes the summary of a window's steps, writes it as one table, and reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/history/segments/segment_builder.h"

namespace pitwall::history {

// Below so many runs of steps, samples are read as quickly.
inline constexpr size_t kLeastSummedRuns = 4096;

// Takes the tables of a window one after another, and keeps of them only what steps are made of.
// Not thread-safe.
class StepSummaries {
 public:
  // `modes`: of all tables; must outlive it.
  explicit StepSummaries(const ModeNames* modes) : modes_(*modes) {}
  void Add(const RowTable& rows);
  // After the last table. Fills facts->steps.
  Status Write(SegmentBuilder* w, SegmentMeta* facts);

 private:
  struct Extent {
    int64_t least = INT64_MAX;
    int64_t greatest = INT64_MIN;
    size_t rows = 0;
  };
  const ModeNames& modes_;
  std::map<int64_t, Extent> extents_;  // by mode, of rows with a step
  std::vector<RowTable> tables_;       // with the series of steps alone
};

// A page of a segment's file, without opening the segment. DataLoss: damaged, or missing.
StatusOr<StepSummaryPtr> ReadStepSummary(const std::string& path, const store::Page& page);
// Blocks of that summary.
StatusOr<StepBlocksPtr> ReadStepBlocks(const std::string& path, const store::Page& page,
                                       const StepSummary& summary);
size_t BytesOf(const StepSummary& summary);
size_t BytesOf(const StepBlocks& blocks);

}  // namespace pitwall::history
