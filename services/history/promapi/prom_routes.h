// Prometheus-compatible HTTP API over the history of all jobs, for Grafana and other clients.
//
// Each series has the label pitwall_job with the job's ID, so one query can read all jobs. A
// matcher on this label restricts the query to some of the jobs. docs/promql-api.md lists the
// endpoints and differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/promapi/rule_groups.h"

namespace pitwall::promapi {

inline constexpr std::string_view kJobLabel = "pitwall_job";

struct PromOptions {
  int64_t timeout_ns = 60 * kNanosPerSecond;  // timeout per query; a request may lower it
  int64_t lookback_ns = 300 * kNanosPerSecond;
  int64_t subquery_interval_ns = 60 * kNanosPerSecond;  // default step of subqueries
  size_t max_jobs = 1'000;        // maximum number of jobs that one request reads
  history::ReadLimits limits;     // limits of one request over all jobs
  size_t max_points = 5'000'000;  // limit per response
  std::string version = "0.1.0";  // Pitwall version
};

// Returns the routes under /api/v1/, which require the role "view". If `rules` is empty, the groups
// contain the rules found in the history's issues and statuses. All pointers must outlive the
// routes.
std::vector<http::HttpRoute> PromRoutes(const history::History* history, const Clock* clock,
                                        RuleGroupSource rules, PromOptions options);

}  // namespace pitwall::promapi
