// Handler that requests stack captures for a job's ranks from the collectors.
#include "services/base/text/strings.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"

namespace pitwall::history {
namespace {

constexpr int64_t kExpiresNs = 10 * kNanosPerSecond;

}  // namespace

Answer AskCapture(const ApiCall& call) {
  CaptureRequest request;
  request.ranks = call.parameters.Ints("rank", 0, INT32_MAX);
  RETURN_IF_ERROR(call.parameters.status());
  if (call.options.captures == nullptr)
    return FailedPrecondition(
        "job: captures are disabled on this server; use a server that runs the notifier, or run "
        "`pitwall capture`");
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  if (call.parameters.Text("job") != job->id)
    return InvalidArgument(Cat("job: must be a complete job ID (got ",
                               Quote(call.parameters.Text("job")), "); use ", Quote(job->id)));
  if (job->ended_ns != 0)
    return FailedPrecondition(
        Cat("job: has ended (got ", Quote(job->id), "); only running jobs can be captured"));
  if (request.ranks.size() > kMaxCaptureRanks)
    return InvalidArgument(
        Cat("rank: at most ", kMaxCaptureRanks,
            " ranks are allowed; specify fewer, or omit the parameter for all ranks"));
  request.job = job->id;
  request.principal = "act";
  request.expires = EventTime::FromNs(call.options.clock->WallNs() + kExpiresNs);
  ASSIGN_OR_RETURN(const std::string id, call.options.captures->RequestCapture(std::move(request)));
  JsonWriter out;
  out.BeginObject();
  TextField("request", id, &out);
  out.EndObject();
  return http::HttpResponse::Json(out.Take());
}

}  // namespace pitwall::history
