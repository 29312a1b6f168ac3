#include "services/history/query/window_samples.h"

#include <algorithm>

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

Status TooManyRows(size_t limit) {
  return ResourceExhausted(Cat("rows: the result has more than ", limit,
                               "; narrow the range or selectors, or request rollups"));
}

StatusOr<SeriesMerger> MergeRows(const TimeRange& range, WindowView* view, SeriesSet* set) {
  RETURN_IF_ERROR(view->AddRows(set, range));
  SeriesMerger merger(view->rows, set);
  RETURN_IF_ERROR(merger.Prepare());
  RETURN_IF_ERROR(view->AddSequences(merger.Mixed()));
  return merger;
}

bool HasOtherSteps(const SampleQuery& query, const WindowView& view) {
  return !query.mode.empty() && view.head.empty() && view.sealed.has_value() &&
         view.sealed->steps.Without(query.mode, query.from_step, query.to_step);
}

Status AddSamples(const SampleQuery& query, WindowView* view, SeriesSet* set,
                  std::vector<SampleColumn>* found, size_t* count, size_t windows) {
  ASSIGN_OR_RETURN(const SeriesMerger merger, MergeRows(query.range, view, set));
  const int64_t mode = query.mode.empty() ? -1 : view->modes.Find(query.mode);
  if (!query.mode.empty() && mode < 0) return OkStatus();
  const RowFilter filter = {query.range.from_ns, query.range.to_ns, mode, query.from_step,
                            query.to_step};
  constexpr size_t kAhead = 4;
  const std::vector<uint32_t>& wanted = merger.series();
  for (size_t i = 0; i < wanted.size(); ++i) {
    RETURN_IF_ERROR(CheckCanceled());
    if (i + kAhead < wanted.size()) merger.Prefetch(wanted[i + kAhead]);
    SampleColumn& column = At(found, wanted[i]);
    if (column.times.capacity() == 0 && windows > 1) {
      const size_t rows = windows * merger.Rows(wanted[i]);
      column.times.reserve(rows);
      column.values.reserve(rows);
    }
    *count += merger.Append(wanted[i], filter, &column);
    if (*count > query.limits.rows) return TooManyRows(query.limits.rows);
  }
  return OkStatus();
}

std::vector<SampleColumn> InOrder(const SeriesSet& set, std::vector<SampleColumn>* found) {
  std::vector<SampleColumn> out;
  for (const uint32_t series : set.InOrder()) {
    if (series >= found->size() || (*found)[series].times.empty()) continue;
    SampleColumn& column = (*found)[series];
    column.labels = set.all()[series].labels;
    column.kind = set.all()[series].kind;
    const auto none = [](int64_t step) { return step == kNoStep; };
    if (std::all_of(column.steps.begin(), column.steps.end(), none)) {
      column.steps.clear();
    } else {
      column.steps.resize(column.times.size(), kNoStep);
    }
    out.push_back(std::move(column));
  }
  return out;
}

}  // namespace pitwall::history
