// History as of a point in time, for the `at` parameter of the page and the API.
#pragma once

#include <algorithm>
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
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override;
  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query, size_t tier) const override;
  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                               std::span<const double> quantiles) const override;
  StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const override;
  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const override;
  StatusOr<JobRecords> Records(std::string_view job, EventTopic topic) const override;
  // Returns current changes, not changes as of at_ns.
  const ChangeFeed& changes() const override { return history_.changes(); }

 private:
  StatusOr<JobLifePtr> LifeOf(const JobOverview& life) const;
  // Returns the query without the part of its range after at_ns.
  template <typename Query>
  Query Cut(Query query) const {
    query.range.to_ns = std::min(query.range.to_ns, at_ns_ + 1);
    query.range.from_ns = std::min(query.range.from_ns, query.range.to_ns);
    return query;
  }

  const History& history_;
  const int64_t at_ns_;
};

}  // namespace pitwall::history
