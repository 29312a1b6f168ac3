// Implementation of job queries over sealed windows and unsealed rows.
//
// The required rows in memory are copied under the job's lock; segments are read without the lock.
// If a window is sealed in the meantime, the query restarts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

class SegmentQuery final : public History {
 public:
  explicit SegmentQuery(const HistoryStore* store) : store_(store) {}

  JobList ListJobs() const override;
  StatusOr<JobLifePtr> FindJob(std::string_view job) const override;
  StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const override;
  StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const override;
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override;
  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query, size_t tier) const override;
  StatusOr<SeriesTablePtr> VisitRollups(
      const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
      const std::function<Status(std::span<const RollupPart>)>& visit) const override;
  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                               std::span<const double> quantiles) const override;
  StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const override;
  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const override;
  StatusOr<JobRecords> Records(std::string_view job, EventTopic topic) const override;
  const ChangeFeed& changes() const override { return store_->feed(); }

 private:
  const HistoryStore* const store_;
};

}  // namespace pitwall::history
