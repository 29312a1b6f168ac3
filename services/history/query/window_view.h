// Query view of one window: its sealed part and a copy of its unsealed rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

struct WindowView {
  int64_t start_ns = 0;
  std::optional<SegmentMeta> sealed;
  std::shared_ptr<const WindowSegment> segment;  // open segment, if the window is sealed
  ModeNames modes;
  std::vector<MemTablePart> head;  // unsealed rows, still packed
  std::vector<RowTable> tables;    // unsealed rows with the selected columns, sorted
  std::vector<RowView> rows;       // rows of `tables` and of the segment, set by AddRows

  bool Within(const TimeRange& range) const {
    return range.from_ns <= start_ns && start_ns + kWindowNs <= range.to_ns;
  }
  // Returns whether only summaries remain.
  bool rows_are_gone() const { return sealed.has_value() && !sealed->has_rows; }
  // Returns whether the metric pages are complete or are the only data that remains. Valid before
  // the window is opened.
  bool only_pages() const {
    return sealed.has_value() && sealed->metrics.bytes > 0 && (head.empty() || rows_are_gone());
  }
  // Fills `rows` with the rows of `tables` and the segment in the range. Mode numbers refer to
  // `modes`.
  Status AddRows(SeriesSet* set, const TimeRange& range);
  // Adds the sequence numbers of the tables returned by SeriesMerger::Mixed.
  Status AddSequences(const std::vector<size_t>& of_rows);
};

// Returns the job after loading it, or NotFound if it does not exist.
StatusOr<StoredJobPtr> FindStoredJob(const HistoryStore& store, std::string_view id);

// Copies a consistent view of the job's windows that overlap the range, in order: the unsealed rows
// (unpacked later by OpenWindow) and the metadata of sealed windows.
Status CopyWindows(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                   std::vector<WindowView>* out, uint64_t* version);
Status OpenWindow(const HistoryStore& store, WindowView* view);
// Calls `read`. Calls it again if a window was sealed in the meantime and its old file was not
// found.
Status WhileSealed(const StoredJob& job, const std::function<Status(uint64_t* version)>& read);

// Calls `visit` with each window from CopyWindows in order. Calls `begin` before each attempt.
Status ForEachClosed(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                     const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit);
}  // namespace pitwall::history
