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
};

// Returns the time range that contains all of a job's data.
TimeRange WholeOf(const JobOverview& job);

using Answer = StatusOr<http::HttpResponse>;

Answer AnswerJobs(const ApiCall& call);
Answer AnswerJob(const ApiCall& call);
Answer DeleteJob(const ApiCall& call);
Answer ArchiveJob(const ApiCall& call);

Answer AnswerSeries(const ApiCall& call);
Answer AnswerSamples(const ApiCall& call);
Answer AnswerChart(const ApiCall& call);
Answer AnswerHeatMap(const ApiCall& call);
Answer AnswerResources(const ApiCall& call);
Answer AnswerTensors(const ApiCall& call);
Answer AnswerDiffers(const ApiCall& call);

Answer AnswerStepHeatMap(const ApiCall& call);
Answer AnswerSpans(const ApiCall& call);
Answer AnswerSteps(const ApiCall& call);
Answer AnswerPhases(const ApiCall& call);
Answer AnswerOperators(const ApiCall& call);
Answer AnswerWhatIf(const ApiCall& call);

Answer AnswerIssues(const ApiCall& call);
Answer AnswerIssue(const ApiCall& call);
Answer AnswerIncidents(const ApiCall& call);
Answer AnswerRules(const ApiCall& call);
Answer AnswerActions(const ApiCall& call);
Answer AnswerCaptures(const ApiCall& call);
Answer AskInterval(const ApiCall& call);
Answer AskParameter(const ApiCall& call);
Answer AskCapture(const ApiCall& call);
Answer AskStop(const ApiCall& call);
Answer AnswerReport(const ApiCall& call);

Answer AnswerStream(const ApiCall& call);
Answer OpenSession(const ApiCall& call);
Answer AnswerSession(const ApiCall& call);
Answer CloseSession(const ApiCall& call);
Answer AnswerOpenApi(const ApiCall& call);

// Returns {"error": {"code", "message", "place"}} with the corresponding HTTP status.
http::HttpResponse ErrorResponse(const Status& status);

}  // namespace pitwall::history
