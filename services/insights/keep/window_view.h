// One window of a job as a question sees it: what is sealed, and a copy of what is in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "services/insights/history.h"
#include "services/insights/keep/history_store.h"

namespace pitwall::insights {

struct WindowView {
  int64_t start_ns = 0;
  std::optional<SegmentFacts> sealed;
  std::shared_ptr<const WindowSegment> segment;  // open, where sealed
  ModeNames modes;
  std::vector<HeadPart> head;    // what is not sealed, before it is unpacked
  std::vector<RowTable> tables;  // what is not sealed, with the wanted columns; sorted
  std::vector<RowView> rows;     // after AddRows: of `tables` and of the segment

  bool Within(const TimeRange& range) const {
    return range.from_ns <= start_ns && start_ns + kWindowNs <= range.to_ns;
  }
  // Rollups and spreads of the segment say it all.
  bool only_sealed() const { return segment != nullptr && tables.empty(); }
  // Fills `rows` with all of `tables` and the segment's in the range, with modes of `modes`.
  Status AddRows(SeriesSet* set, const TimeRange& range);
  // What SeriesMerger::Mixed wants.
  Status AddSequences(const std::vector<size_t>& of_rows);
};

// Calls `visit` with the windows of the job that overlap the range, in their order, so that all of
// them are of one moment.
Status ForEachWindow(const HistoryStore& store, const KeptJob& job, const TimeRange& range,
                     SeriesSet* set, const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit);

}  // namespace pitwall::insights
