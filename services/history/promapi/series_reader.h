// Reader for series that match selectors, in one job or in all jobs, within the limits of one
// request.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/promapi/prom_routes.h"
#include "services/query/stored_series.h"

namespace pitwall::promapi {

// Samples for a query, with the memory that backs them.
struct ReadSamples {
  std::vector<std::unique_ptr<std::vector<history::SampleColumn>>> columns;
  std::vector<query::StoredSeries> series;  // with the job label
};

// Reader for one request. It calls `check` between jobs and stops if `check` returns an error.
class SeriesReader {
 public:
  SeriesReader(const history::History* history, const PromOptions& options,
               std::function<Status()> check);

  // Reads samples in (from, to].
  StatusOr<ReadSamples> Samples(const Selector& selector, int64_t from, int64_t to);
  // Lists the series that have samples in [from, to] and match any of the selectors, sorted by
  // labels. Without selectors, lists all series with samples.
  StatusOr<std::vector<Labels>> Series(std::span<const Selector> selectors, int64_t from,
                                       int64_t to);
  // Returns the sorted IDs of jobs with samples in [from, to].
  StatusOr<std::vector<std::string>> Jobs(int64_t from, int64_t to);

  size_t samples_read() const { return samples_read_; }
  // Returns the peers whose jobs could not be read.
  const history::MissingPeers& missing() const { return missing_; }

 private:
  // Lists the jobs and records the missing peers.
  std::vector<history::JobLifePtr> ListJobs();

  const history::History* const history_;
  const PromOptions& options_;
  const std::function<Status()> check_;
  history::ReadLimits left_;
  size_t samples_read_ = 0;
  history::MissingPeers missing_;
};

}  // namespace pitwall::promapi
