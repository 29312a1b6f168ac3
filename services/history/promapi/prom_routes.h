// Prometheus' HTTP API over the history of all jobs, for Grafana and whatever else speaks it.
//
// Each series has the label pitwall_job with the id of its job, so that one query sees all jobs; a
// matcher on it selects some. What is there and what differs: docs/promql-api.md.
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
  int64_t timeout_ns = 60 * kNanosPerSecond;  // of one query; a request may ask for less
  int64_t lookback_ns = 300 * kNanosPerSecond;
  int64_t subquery_interval_ns = 60 * kNanosPerSecond;  // of subqueries without a step
  size_t max_jobs = 1'000;                              // that one request reads
  history::ReadLimits limits;     // series and samples that one request reads, of all jobs
  size_t max_points = 5'000'000;  // of one answer
  std::string version = "0.1.0";  // of Pitwall
};

// /api/v1/…, behind the role view. `rules` may be empty: then groups are made of what the issues
// and statuses in the history name. Everything borrowed must outlive the routes.
std::vector<http::HttpRoute> PromRoutes(const history::History* history, const Clock* clock,
                                        RuleGroupSource rules, PromOptions options);

}  // namespace pitwall::promapi
