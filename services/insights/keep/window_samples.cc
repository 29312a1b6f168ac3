#include "services/insights/keep/window_samples.h"

#include <algorithm>

#include "services/base/strings.h"

namespace pitwall::insights {

Status TooManyRows(size_t limit) {
  return ResourceExhausted(Cat("rows: the answer has more than ", limit,
                               "; narrow range or selectors, or ask for rollups"));
}

Status MergedWindow::Prepare(const TimeRange& range) {
  RETURN_IF_ERROR(view_->AddRows(set_, range));
  merger_ = std::make_unique<SeriesMerger>(view_->rows, set_);
  RETURN_IF_ERROR(merger_->Prepare());
  return view_->AddSequences(merger_->Mixed());
}

bool HasOtherSteps(const SampleQuery& query, const WindowView& view) {
  return !query.mode.empty() && view.head.empty() && view.sealed.has_value() &&
         view.sealed->steps.Without(query.mode, query.from_step, query.to_step);
}

Status AddSamples(const SampleQuery& query, WindowView* view, SeriesSet* set,
                  std::vector<SampleColumn>* found, size_t* count) {
  MergedWindow window(view, set);
  RETURN_IF_ERROR(window.Prepare(query.range));
  const int64_t mode = query.mode.empty() ? -1 : view->modes.Find(query.mode);
  if (!query.mode.empty() && mode < 0) return OkStatus();
  const RowFilter filter = {query.range.from_ns, query.range.to_ns, mode, query.from_step,
                            query.to_step};
  for (const uint32_t series : window.merger().series()) {
    *count += window.merger().Append(series, filter, &At(found, series));
    if (*count > query.limits.rows) return TooManyRows(query.limits.rows);
  }
  return OkStatus();
}

std::vector<SampleColumn> InOrder(const SeriesSet& set, std::vector<SampleColumn>* found) {
  std::vector<SampleColumn> out;
  for (const uint32_t series : set.InOrder()) {
    if (series >= found->size() || (*found)[series].times_ns.empty()) continue;
    SampleColumn& column = (*found)[series];
    column.labels = set.all()[series].labels;
    column.kind = set.all()[series].kind;
    const auto none = [](int64_t step) { return step == kNoStep; };
    if (std::all_of(column.steps.begin(), column.steps.end(), none)) column.steps.clear();
    out.push_back(std::move(column));
  }
  return out;
}

}  // namespace pitwall::insights
