// Handlers for requests to capture stacks (performed by the collectors), to stop a job (by the
// executor), to change a sampling interval (by the collectors on the job's nodes), or to change a
// rule parameter (by the processor).
#include <array>
#include <cmath>
#include <utility>

#include "services/base/duration.h"
#include "services/base/system/random_hex.h"
#include "services/base/text/strings.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"

namespace pitwall::history {
namespace {

constexpr int64_t kExpiresNs = 60 * kNanosPerSecond;
constexpr int64_t kCaptureExpiresNs = 10 * kNanosPerSecond;
constexpr size_t kMaxReasonBytes = 500;
constexpr size_t kMaxNameBytes = 1000;            // of a rule or parameter name
constexpr std::string_view kFilesValue = "null";  // value that resets a parameter to the rule files
// Sampling intervals that the collector accepts.
constexpr std::array<std::string_view, 6> kIntervals = {"100ms", "200ms", "500ms",
                                                        "1s",    "5s",    "1m"};

// Returns the job with the complete ID. `action` completes the error if the job has ended.
StatusOr<JobLifePtr> RunningJob(const ApiCall& call, std::string_view action) {
  ASSIGN_OR_RETURN(JobLifePtr job, call.CompleteJob());
  if (job->ended_ns == 0) return job;
  return FailedPrecondition(
      Cat("job: has ended (got ", Quote(job->id), "); only running jobs ", action));
}

// Builds a request for a running job.
StatusOr<ActionEvent> RequestOf(const ApiCall& call, std::string reason) {
  if (reason.empty() || reason.size() > kMaxReasonBytes)
    return InvalidArgument(
        Cat("reason: must be 1 to ", kMaxReasonBytes, " bytes long (got ", reason.size(), ")"));
  if (!call.options.request_action)
    return FailedPrecondition(
        "job: requests are disabled on this server; use a server that can write to the log");
  ASSIGN_OR_RETURN(const JobLifePtr job, RunningJob(call, "accept requests"));
  ActionEvent request;
  request.type = ActionEventType::kRequested;
  ASSIGN_OR_RETURN(request.issue, RandomHex(16));
  request.job = job->id;
  request.job_name = job->name;
  request.owner = job->owner;
  request.attempt = job->attempts.empty() ? 0 : job->attempts.back().attempt;
  request.mode = ActionMode::kLive;
  request.target = job->reference;
  request.why = std::move(reason);
  request.principal = "act";
  request.time = EventTime::FromNs(call.options.clock->WallNs());
  request.expires = request.time + Duration::Nanos(kExpiresNs);
  return request;
}

Answer Send(const ApiCall& call, ActionEvent request) {
  request.id = MakeActionId(request);
  RETURN_IF_ERROR(call.options.request_action(request));
  return JsonAnswer([&](JsonWriter* out) { TextField("request", request.issue, out); });
}

}  // namespace

Answer AskCapture(const ApiCall& call) {
  CaptureRequest request;
  request.ranks = call.parameters.Ints("rank", 0, INT32_MAX);
  RETURN_IF_ERROR(call.parameters.status());
  if (call.options.captures == nullptr)
    return FailedPrecondition(
        "job: captures are disabled on this server; use a server that runs the notifier, or run "
        "`pitwall capture`");
  ASSIGN_OR_RETURN(const JobLifePtr job, RunningJob(call, "can be captured"));
  if (request.ranks.size() > kMaxCaptureRanks)
    return InvalidArgument(
        Cat("rank: at most ", kMaxCaptureRanks,
            " ranks are allowed; specify fewer, or omit the parameter for all ranks"));
  request.job = job->id;
  request.principal = "act";
  request.expires = EventTime::FromNs(call.options.clock->WallNs() + kCaptureExpiresNs);
  ASSIGN_OR_RETURN(const std::string id, call.options.captures->RequestCapture(std::move(request)));
  return JsonAnswer([&](JsonWriter* out) { TextField("request", id, out); });
}

Answer AskStop(const ApiCall& call) {
  std::string reason(Trim(call.parameters.Text("reason")));
  RETURN_IF_ERROR(call.parameters.status());
  ASSIGN_OR_RETURN(ActionEvent request, RequestOf(call, std::move(reason)));
  request.rule = std::string(kStopRequestRule);
  request.alert = "StopRequested";
  return Send(call, std::move(request));
}

Answer AskInterval(const ApiCall& call) {
  std::string reason(Trim(call.parameters.Text("reason")));
  const std::string_view interval = kIntervals[call.parameters.Choice("interval", kIntervals)];
  RETURN_IF_ERROR(call.parameters.status());
  ASSIGN_OR_RETURN(ActionEvent request, RequestOf(call, std::move(reason)));
  request.kind = ActionKind::kInterval;
  request.rule = std::string(kIntervalRequestRule);
  request.alert = "IntervalRequested";
  ASSIGN_OR_RETURN(const int64_t interval_ns, ParseDuration(interval));
  request.interval = Duration::Nanos(interval_ns);
  return Send(call, std::move(request));
}

Answer AskParameter(const ApiCall& call) {
  std::string reason(Trim(call.parameters.Text("reason")));
  ParameterChange change{std::string(call.parameters.Text("rule")),
                         std::string(call.parameters.Text("parameter"))};
  const std::string_view value = call.parameters.Text("value");
  RETURN_IF_ERROR(call.parameters.status());
  if (value != kFilesValue) {
    const std::optional<double> number = ParseDouble(value);
    if (!number.has_value() || !std::isfinite(*number))
      return InvalidArgument(Cat(
          "value: must be a finite number, or null to restore the value from the rule files (got ",
          Quote(value.substr(0, 100)), ")"));
    change.value = number;
  }
  if (change.rule.size() > kMaxNameBytes || change.name.size() > kMaxNameBytes)
    return InvalidArgument(
        Cat("rule, parameter: must each be at most ", kMaxNameBytes, " bytes long"));
  ASSIGN_OR_RETURN(ActionEvent request, RequestOf(call, std::move(reason)));
  if (call.options.check_parameter) RETURN_IF_ERROR(call.options.check_parameter(change));
  request.kind = ActionKind::kParameter;
  request.rule = std::string(kParameterRequestRule);
  request.alert = "ParameterRequested";
  request.parameter = std::move(change);
  return Send(call, std::move(request));
}

}  // namespace pitwall::history
