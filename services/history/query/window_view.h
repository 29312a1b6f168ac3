// One window of a job as seen by a query: its sealed part, and a copy of its rows in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

struct WindowView {
  int64_t start_ns = 0;
  std::optional<SegmentMeta> sealed;
  std::shared_ptr<const WindowSegment> segment;  // open, if sealed
  ModeNames modes;
  std::vector<MemTablePart> head;  // unsealed rows before unpacking
  std::vector<RowTable> tables;    // unsealed rows with the wanted columns; sorted
  std::vector<RowView> rows;       // after AddRows: of `tables` and of the segment

  bool Within(const TimeRange& range) const {
    return range.from_ns <= start_ns && start_ns + kWindowNs <= range.to_ns;
  }
  // Rollups and spreads of the segment are complete.
  bool only_sealed() const { return segment != nullptr && tables.empty(); }
  // Only summaries remain.
  bool rows_are_gone() const { return sealed.has_value() && !sealed->has_rows; }
  // Valid before the window is opened: pages of metrics are complete, or are all that is left.
  bool only_pages() const {
    return sealed.has_value() && sealed->metrics.bytes > 0 && (head.empty() || rows_are_gone());
  }
  // Fills `rows` with those of `tables` and of the segment in the range, with mode numbers of
  // `modes`.
  Status AddRows(SeriesSet* set, const TimeRange& range);
  // Adds sequences for the tables that SeriesMerger::Mixed returned.
  Status AddSequences(const std::vector<size_t>& of_rows);
};

// Copies a consistent view of the job's windows that overlap the range, in order: unsealed rows,
// which OpenWindow unpacks, and metadata of sealed windows.
Status CopyWindows(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                   std::vector<WindowView>* out, uint64_t* version);
Status OpenWindow(const HistoryStore& store, WindowView* view);
// Calls `read` again as long as a window was sealed meanwhile and its old file was not found.
Status WhileSealed(const StoredJob& job, const std::function<Status(uint64_t* version)>& read);

// Calls `visit` with each window of CopyWindows in order; `begin` before each attempt.
Status ForEachClosed(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                     const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit);
// Calls `visit` with these windows, opened one after another, except skipped ones.
Status ForEachWindow(const HistoryStore& store, const StoredJob& job, const TimeRange& range,
                     SeriesSet* set, const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit,
                     const std::function<bool(const WindowView&)>& skip = nullptr);

}  // namespace pitwall::history
