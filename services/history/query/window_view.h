// One window of a job as a question sees it: what is sealed, and a copy of what is in memory.
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
  std::shared_ptr<const WindowSegment> segment;  // open, where sealed
  ModeNames modes;
  std::vector<MemTablePart> head;  // what is not sealed, before it is unpacked
  std::vector<RowTable> tables;    // what is not sealed, with the wanted columns; sorted
  std::vector<RowView> rows;       // after AddRows: of `tables` and of the segment

  bool Within(const TimeRange& range) const {
    return range.from_ns <= start_ns && start_ns + kWindowNs <= range.to_ns;
  }
  // Rollups and spreads of the segment say it all.
  bool only_sealed() const { return segment != nullptr && tables.empty(); }
  // Summaries are all that is left of it.
  bool rows_are_gone() const { return sealed.has_value() && !sealed->has_rows; }
  // Before it is opened: pages of metrics say it all, or all that is left.
  bool only_pages() const {
    return sealed.has_value() && sealed->metrics.bytes > 0 && (head.empty() || rows_are_gone());
  }
  // Fills `rows` with all of `tables` and the segment's in the range, with modes of `modes`.
  Status AddRows(SeriesSet* set, const TimeRange& range);
  // What SeriesMerger::Mixed wants.
  Status AddSequences(const std::vector<size_t>& of_rows);
};

// The windows of the job that overlap the range, in their order, as they are at one moment: with
// copies of memory, which OpenWindow unpacks, and facts of what is sealed.
Status CopyWindows(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                   std::vector<WindowView>* out, uint64_t* version);
Status OpenWindow(const HistoryStore& store, WindowView* view);
// Calls `read` until no window was sealed meanwhile whose file it did not find.
Status WhileSealed(const StoredJob& job, const std::function<Status(uint64_t* version)>& read);

// Calls `visit` with these windows as CopyWindows gives them, one after another; `begin` before
// each try.
Status ForEachClosed(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                     const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit);
// Calls `visit` with these windows but for those to be skipped, opened one after another.
Status ForEachWindow(const HistoryStore& store, const StoredJob& job, const TimeRange& range,
                     SeriesSet* set, const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit,
                     const std::function<bool(const WindowView&)>& skip = nullptr);

}  // namespace pitwall::history
