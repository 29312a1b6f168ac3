#include "services/insights/keep/window_view.h"

namespace pitwall::insights {
namespace {

// Copies of memory and facts, of one moment.
Status CopyWindows(const KeptJob& job, const TimeRange& range, SeriesSet* set,
                   std::vector<WindowView>* out, uint64_t* version) {
  MutexLock lock(&job.mutex());
  *version = job.version();
  const int64_t first = range.from_ns <= kMinPosition ? kMinPosition : WindowOf(range.from_ns);
  for (auto at = job.windows().lower_bound(first); at != job.windows().end(); ++at) {
    if (at->first >= range.to_ns) break;
    const KeptWindow& window = at->second;
    WindowView view;
    view.start_ns = at->first;
    view.sealed = window.sealed;
    if (window.head != nullptr) {
      RETURN_IF_ERROR(window.head->Copy(set, &view.head));
      if (!view.head.empty()) view.modes = window.head->modes();
    }
    if (view.sealed.has_value() || !view.head.empty()) out->push_back(std::move(view));
  }
  return OkStatus();
}

}  // namespace

Status WindowView::AddSealedRows(SeriesSet* set, const TimeRange& range) {
  if (segment == nullptr) return OkStatus();
  std::vector<RowTable> sealed_tables;
  RETURN_IF_ERROR(segment->ReadRows(set, range, &sealed_tables));
  std::vector<int64_t> numbers;  // of the segment's modes here
  for (const std::string& name : segment->modes().all()) numbers.push_back(modes.Of(name));
  for (RowTable& table : sealed_tables) {
    for (int64_t& mode : table.modes) mode = numbers[static_cast<size_t>(mode)];
    tables.push_back(std::move(table));
  }
  return OkStatus();
}

Status ForEachWindow(const HistoryStore& store, const KeptJob& job, const TimeRange& range,
                     SeriesSet* set, const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit) {
  constexpr int kTries = 8;
  Status status;
  for (int i = 0; i < kTries; ++i) {
    begin();
    std::vector<WindowView> views;
    uint64_t version = 0;
    RETURN_IF_ERROR(CopyWindows(job, range, set, &views, &version));
    status = OkStatus();
    for (WindowView& view : views) {
      if (view.sealed.has_value()) {
        auto segment = store.Segment(*view.sealed);
        status = segment.status();
        if (segment.ok()) view.segment = *std::move(segment);
      }
      for (const HeadPart& part : view.head) {
        if (!status.ok()) break;
        StatusOr<RowTable> rows = part.Rows();
        status = rows.status();
        if (rows.ok()) view.tables.push_back(*std::move(rows));
      }
      view.head.clear();
      if (status.ok()) status = visit(&view);
      if (!status.ok()) break;
      view = WindowView();  // its memory is done with
    }
    if (!absl::IsDataLoss(status)) return status;
    MutexLock lock(&job.mutex());
    // Sealed again meanwhile: the file that was to be read is gone. Else it is damaged.
    if (job.version() == version) return status;
  }
  return status;
}

}  // namespace pitwall::insights
