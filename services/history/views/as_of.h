// History as of a point in time, for the `at` parameter of the page and the API.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "services/history/history.h"

namespace pitwall::history {

// Results contain the samples, events, actions, and captures at or before `at_ns`, the spans that
// ended by then, and the job state derived from these events. Event times determine what is
// included, so late data is included as well. A job's `samples` and `bytes` are current values. For
// operators running at `at_ns`, the count and total are exact, but the minimum and maximum may
// include the running spans. Does not own `history`, and is thread-safe if `history` is.
class HistoryAsOf final : public History {
 public:
  HistoryAsOf(const History* history, int64_t at_ns) : history_(*history), at_ns_(at_ns) {}

  JobList ListJobs() const override;
  StatusOr<JobLifePtr> FindJob(std::string_view job) const override;
  StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const override;
  StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const override;
  Status VisitSamples(const SampleQuery& query, const std::function<void()>& begin,
                      const std::function<Status(std::vector<SampleColumn>)>& visit) const override;
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override;
  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query, size_t tier) const override;
  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                               std::span<const double> quantiles) const override;
  StatusOr<std::vector<SpanRow>> Spans(const SpanQuery& query) const override;
  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const override;
  StatusOr<std::vector<IssueEventPtr>> Events(std::string_view job) const override;
  StatusOr<std::vector<ActionEvent>> Actions(std::string_view job) const override;
  StatusOr<std::vector<RankCapture>> Captures(std::string_view job) const override;
  StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view job) const override;
  // Returns current changes, not changes as of at_ns.
  StatusOr<std::vector<Change>> ChangesAfter(uint64_t place, size_t max) const override;
  uint64_t newest_place() const override;

 private:
  StatusOr<JobLifePtr> LifeOf(const JobOverview& life) const;
  TimeRange Cut(TimeRange range) const;

  const History& history_;
  const int64_t at_ns_;
};

}  // namespace pitwall::history
