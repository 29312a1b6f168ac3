// Prometheus-compatible HTTP API over the history of all jobs, for Grafana and other clients.
//
// Each series has the label pitwall_job with its job's ID, so that one query reads all jobs; a
// matcher on the label selects some of them. docs/promql-api.md lists the endpoints and
// differences.
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
  int64_t timeout_ns = 60 * kNanosPerSecond;  // per query; a request may set a lower one
  int64_t lookback_ns = 300 * kNanosPerSecond;
  int64_t subquery_interval_ns = 60 * kNanosPerSecond;  // default step of subqueries
  size_t max_jobs = 1'000;                              // read by one request
  history::ReadLimits limits;     // series and samples read by one request, over all jobs
  size_t max_points = 5'000'000;  // per answer
  std::string version = "0.1.0";  // Pitwall version
};

// Returns the routes /api/v1/…, which require the role view. `rules` may be empty: groups then
// consist of the rules named by issues and statuses in the history. Everything borrowed must
// outlive the routes.
std::vector<http::HttpRoute> PromRoutes(const history::History* history, const Clock* clock,
                                        RuleGroupSource rules, PromOptions options);

}  // namespace pitwall::promapi
