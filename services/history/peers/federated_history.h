// History of all jobs, split between this process and its peers.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/peers/change_follower.h"
#include "services/history/peers/job_locator.h"

namespace pitwall::history {

// The list of jobs is complete unless it names missing peers. JobLocator determines which process
// serves a job. For a job of another process, only series, samples, and
// events are available; other queries are forwarded as whole requests. Thread-safe, except for
// Start and Stop.
class FederatedHistory final : public History {
 public:
  FederatedHistory(const History* own, Clock* clock, HttpTransport* transport,
                   const FleetOptions& options)
      : own_(own),
        fleet_(own, clock, transport, options),
        changes_(own, &fleet_, clock, options.follow_ns) {}
  // Starts following the changes of all processes.
  void Start() { changes_.Start(); }
  void Stop() { changes_.Stop(); }

  const JobLocator& fleet() const { return fleet_; }

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
  const ChangeFeed& changes() const override { return changes_.feed(); }

 private:
  const History* const own_;
  JobLocator fleet_;
  ChangeFollower changes_;
};

}  // namespace pitwall::history
