// Route handlers, private to this folder. Each handler reads the request parameters, queries the
// history, and writes JSON.
#pragma once

#include <functional>
#include <string>

#include "services/history/api/api_routes.h"
#include "services/history/api/parameters.h"
#include "services/history/views/issue_list.h"

namespace pitwall::history {

struct ApiCall {
  const ApiOptions& options;
  const http::HttpRequest& request;
  Parameters& parameters;

  const History& history() const { return *options.history; }
  // Returns the job selected by the `job` parameter.
  StatusOr<JobLifePtr> Job() const { return history().FindJob(parameters.Text("job")); }
  // Does the same, but requires the complete job ID. A prefix or name may match a different job
  // later, so actions must not use it.
  StatusOr<JobLifePtr> CompleteJob() const;
};

// Returns the time range that contains all of a job's data.
TimeRange WholeOf(const JobOverview& job);

using Answer = StatusOr<http::HttpResponse>;

#define PITWALL_ROUTE(method, path, handler) Answer handler(const ApiCall& call);
#include "services/history/api/routes.inc"

// Returns {"error": {"code", "message", "place"}} with the corresponding HTTP status.
http::HttpResponse ErrorResponse(const Status& status);

}  // namespace pitwall::history
