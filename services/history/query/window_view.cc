#include "services/history/query/window_view.h"

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

StatusOr<StoredJobPtr> FindStoredJob(const HistoryStore& store, std::string_view id) {
  ASSIGN_OR_RETURN(StoredJobPtr job, store.Find(id));
  if (job != nullptr) return job;
  return NotFound(Cat("job ", Quote(id), ": the history has no such job"));
}

Status CopyWindows(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                   std::vector<WindowView>* out, uint64_t* version) {
  MutexLock lock(&job.mutex());
  *version = job.telemetry().windows().version();
  const int64_t first = range.from_ns <= kMinPosition ? kMinPosition : WindowOf(range.from_ns);
  for (auto at = job.windows().lower_bound(first); at != job.windows().end(); ++at) {
    if (at->first >= range.to_ns) break;
    const WindowEntry& window = at->second;
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

Status WindowView::AddRows(SeriesSet* set, const TimeRange& range) {
  rows.clear();
  for (const RowTable& table : tables) rows.emplace_back(table);
  if (segment == nullptr) return OkStatus();
  const size_t in_memory = rows.size();
  RETURN_IF_ERROR(segment->rows().ReadViews(set, range, &rows));
  std::vector<int64_t> numbers;  // maps the segment's mode numbers to the query's
  bool same = true;
  for (const std::string& name : segment->modes().all()) {
    numbers.push_back(modes.Of(name));
    same = same && numbers.back() == static_cast<int64_t>(numbers.size()) - 1;
  }
  if (same) return OkStatus();
  for (size_t i = in_memory; i < rows.size(); ++i) {
    auto renamed = std::make_shared<std::vector<int64_t>>();
    renamed->reserve(rows[i].modes.size());
    for (const int64_t mode : rows[i].modes) renamed->push_back(numbers[static_cast<size_t>(mode)]);
    rows[i].modes = *renamed;
    rows[i].owners.push_back(std::move(renamed));
  }
  return OkStatus();
}

Status WindowView::AddSequences(const std::vector<size_t>& of_rows) {
  for (const size_t i : of_rows) {
    if (i >= tables.size()) RETURN_IF_ERROR(segment->rows().AddSequences(&rows[i]));
  }
  return OkStatus();
}

Status OpenWindow(const HistoryStore& store, WindowView* view) {
  if (view->sealed.has_value()) {
    ASSIGN_OR_RETURN(view->segment, store.segments().Open(*view->sealed));
  }
  for (const MemTablePart& part : view->head) {
    ASSIGN_OR_RETURN(RowTable rows, part.Rows());
    view->tables.push_back(std::move(rows));
  }
  view->head.clear();
  return OkStatus();
}

Status WhileSealed(const StoredJob& job, const std::function<Status(uint64_t* version)>& read) {
  constexpr int kTries = 8;
  Status status;
  for (int i = 0; i < kTries; ++i) {
    uint64_t version = 0;
    status = read(&version);
    if (!absl::IsDataLoss(status)) return status;
    MutexLock lock(&job.mutex());
    // If the window was sealed again, the old file is gone and the read restarts. Otherwise, the
    // file is damaged.
    if (job.telemetry().windows().version() == version) return status;
  }
  return status;
}

Status ForEachClosed(const StoredJob& job, const TimeRange& range, SeriesSet* set,
                     const std::function<void()>& begin,
                     const std::function<Status(WindowView*)>& visit) {
  return WhileSealed(job, [&](uint64_t* version) -> Status {
    begin();
    std::vector<WindowView> views;
    RETURN_IF_ERROR(CopyWindows(job, range, set, &views, version));
    for (WindowView& view : views) {
      RETURN_IF_ERROR(CheckCanceled());
      RETURN_IF_ERROR(visit(&view));
      view = WindowView();  // frees the view's memory
    }
    return OkStatus();
  });
}

}  // namespace pitwall::history
