// Samples of one window of a job, all of its tables together.
#pragma once

#include <memory>
#include <vector>

#include "services/history/query/window_view.h"

namespace pitwall::history {

Status TooManyRows(size_t limit);

// Grows with the series that are met.
template <typename T>
T& At(std::vector<T>* by_series, size_t series) {
  if (by_series->size() <= series) by_series->resize(series + 1);
  return (*by_series)[series];
}

// Prepares a merger of all rows of an open window.
class MergedWindow {
 public:
  MergedWindow(WindowView* view, SeriesSet* set) : view_(view), set_(set) {}
  // At least the rows of the range.
  Status Prepare(const TimeRange& range);
  const SeriesMerger& merger() const { return *merger_; }

 private:
  WindowView* const view_;
  SeriesSet* const set_;
  std::unique_ptr<SeriesMerger> merger_;
};

// The window has no steps of those that are asked for: its file need not be opened.
bool HasOtherSteps(const SampleQuery& query, const WindowView& view);

// Adds the samples of an open window to the columns of their series. ResourceExhausted: *count, of
// all samples, is above the query's limit. `windows`: about as many will be added, this one
// included.
Status AddSamples(const SampleQuery& query, WindowView* view, SeriesSet* set,
                  std::vector<SampleColumn>* found, size_t* count, size_t windows = 1);
// Those with samples, sorted by labels; steps only where one has any.
std::vector<SampleColumn> InOrder(const SeriesSet& set, std::vector<SampleColumn>* found);

}  // namespace pitwall::history
