// Samples from one window of a job, merged from all of the window's tables.
#pragma once

#include <vector>

#include "services/history/query/window_view.h"

namespace pitwall::history {

Status TooManyRows(size_t limit);

// Returns the element for the series. Grows the list if it is too short.
template <typename T>
T& At(std::vector<T>* by_series, size_t series) {
  if (by_series->size() <= series) by_series->resize(series + 1);
  return (*by_series)[series];
}

// Returns a merger for at least the rows of an open window in the range. The arguments must outlive
// it.
StatusOr<SeriesMerger> MergeRows(const TimeRange& range, WindowView* view, SeriesSet* set);

// Returns true if the window contains none of the queried steps. In that case, its file is not
// opened.
bool HasOtherSteps(const SampleQuery& query, const WindowView& view);

// Adds the samples of an open window to the columns of their series. `*count` is the number of
// samples across all windows. Returns ResourceExhausted if it exceeds the query's limit. `windows`
// is the approximate number of windows to be added, including this one.
Status AddSamples(const SampleQuery& query, WindowView* view, SeriesSet* set,
                  std::vector<SampleColumn>* found, size_t* count, size_t windows = 1);
// Returns the columns with samples, sorted by labels. A column has steps only if at least one of
// its samples has a step.
std::vector<SampleColumn> InOrder(const SeriesSet& set, std::vector<SampleColumn>* found);

}  // namespace pitwall::history
