#include "services/history/api/api_routes.h"

#include <array>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"
#include "services/history/views/as_of.h"

namespace pitwall::history {
namespace {

struct ApiRoute {
  std::string_view method;
  std::string_view path;
  Role role;
  // Parameter names. "*" marks required parameters, and "+" marks repeatable ones.
  std::string_view parameters;
  Answer (*answer)(const ApiCall& call);
  bool open = false;
};

constexpr std::array kRoutes = {
    ApiRoute{"GET", "/jobs", Role::kView, "name owner state sort order limit page", AnswerJobs},
    ApiRoute{"GET", "/job", Role::kView, "job*", AnswerJob},
    ApiRoute{"DELETE", "/job", Role::kAct, "job*", DeleteJob},
    ApiRoute{"POST", "/job/archive", Role::kAct, "job* name", ArchiveJob},
    ApiRoute{"GET", "/series", Role::kView, "job* match+ from to limit page", AnswerSeries},
    ApiRoute{"GET", "/samples", Role::kView, "job* match*+ from to mode from_step to_step",
             AnswerSamples},
    ApiRoute{"GET", "/chart", Role::kView,
             "job* match*+ from to width axis mode from_step to_step format", AnswerChart},
    ApiRoute{"GET", "/heatmap", Role::kView, "job* match*+ from to width value", AnswerHeatMap},
    ApiRoute{"GET", "/heatmap/steps", Role::kView,
             "job* from to mode from_step to_step width basis", AnswerStepHeatMap},
    ApiRoute{"GET", "/spans", Role::kView,
             "job* from to rank+ kind+ name mode from_step to_step limit page", AnswerSpans},
    ApiRoute{"GET", "/steps", Role::kView, "job* mode from_step to_step from to rank+ limit page",
             AnswerSteps},
    ApiRoute{"GET", "/phases", Role::kView, "job* mode last to_step", AnswerPhases},
    ApiRoute{"GET", "/operators", Role::kView, "job* from to rank+ kind+ limit", AnswerOperators},
    ApiRoute{"GET", "/tensors", Role::kView, "job* name collection mode rank+ to_step limit page",
             AnswerTensors},
    ApiRoute{"GET", "/resources", Role::kView, "job* from to", AnswerResources},
    ApiRoute{"GET", "/issues", Role::kView, "job* state rule severity incident limit page",
             AnswerIssues},
    ApiRoute{"GET", "/issue", Role::kView, "job* id*", AnswerIssue},
    ApiRoute{"GET", "/incidents", Role::kView, "job* state", AnswerIncidents},
    ApiRoute{"GET", "/rules", Role::kView, "job*", AnswerRules},
    ApiRoute{"GET", "/actions", Role::kView, "job*", AnswerActions},
    ApiRoute{"GET", "/captures", Role::kView, "job* request issue", AnswerCaptures},
    ApiRoute{"POST", "/job/capture", Role::kAct, "job* rank+", AskCapture},
    ApiRoute{"POST", "/job/stop", Role::kAct, "job* reason*", AskStop},
    ApiRoute{"POST", "/job/interval", Role::kAct, "job* interval* reason*", AskInterval},
    ApiRoute{"POST", "/job/parameter", Role::kAct, "job* rule* parameter* value* reason*",
             AskParameter},
    ApiRoute{"GET", "/report", Role::kView, "job* format", AnswerReport},
    ApiRoute{"GET", "/what-if", Role::kView, "job* rank* mode from_step to_step", AnswerWhatIf},
    ApiRoute{"GET", "/differs", Role::kView, "job* from* to* match+ limit", AnswerDiffers},
    ApiRoute{"GET", "/stream", Role::kView, "jobs topics last_event_id", AnswerStream},
    ApiRoute{"POST", "/session", Role::kNone, "", OpenSession, true},
    ApiRoute{"GET", "/session", Role::kNone, "", AnswerSession, true},
    ApiRoute{"DELETE", "/session", Role::kNone, "", CloseSession, true},
    ApiRoute{"GET", "/openapi.yaml", Role::kView, "", AnswerOpenApi},
};

std::vector<ParameterRule> RulesOf(const ApiRoute& route) {
  const std::string_view text = route.parameters;
  std::vector<ParameterRule> out;
  for (std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    ParameterRule rule;
    rule.repeatable = EndsWith(word, "+");
    if (rule.repeatable) word.remove_suffix(1);
    rule.required = EndsWith(word, "*");
    if (rule.required) word.remove_suffix(1);
    rule.name = word;
    out.push_back(rule);
  }
  // Every query about a job accepts the `at` parameter, a point in time.
  if (route.method == "GET" && !out.empty() && out[0].name == "job") out.push_back({"at"});
  return out;
}

struct Code {
  absl::StatusCode status;
  int http;
  std::string_view name;
};
constexpr std::array<Code, 11> kCodes = {
    {{absl::StatusCode::kInvalidArgument, 400, "invalid_argument"},
     {absl::StatusCode::kUnauthenticated, 401, "unauthenticated"},
     {absl::StatusCode::kPermissionDenied, 403, "permission_denied"},
     {absl::StatusCode::kNotFound, 404, "not_found"},
     {absl::StatusCode::kFailedPrecondition, 409, "failed_precondition"},
     {absl::StatusCode::kOutOfRange, 410, "out_of_range"},
     {absl::StatusCode::kResourceExhausted, 422, "resource_exhausted"},
     {absl::StatusCode::kCancelled, 499, "canceled"},
     {absl::StatusCode::kDataLoss, 500, "data_loss"},
     {absl::StatusCode::kDeadlineExceeded, 503, "deadline_exceeded"},
     {absl::StatusCode::kUnavailable, 503, "unavailable"}}};

bool Matches(std::string_view if_none_match, std::string_view tag) {
  for (std::string_view one : Split(if_none_match, ',')) {
    one = Trim(one);
    if (StartsWith(one, "W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

// Adds an entity tag, and omits the body if the client already has this version.
void AddTag(const http::HttpRequest& request, http::HttpResponse* response) {
  const std::string tag = Cat("\"", StableHashHex(response->body), "\"");
  response->headers.emplace_back("ETag", tag);
  response->headers.emplace_back("Cache-Control", "private, no-cache");
  if (!Matches(request.Header("if-none-match"), tag)) return;
  response->status = 304;
  response->body.clear();
}

http::HttpResponse Handle(const ApiRoute& route, const std::vector<ParameterRule>& rules,
                          const ApiOptions& options, const http::HttpRequest& request) {
  Parameters parameters(request, rules);
  if (!parameters.status().ok()) return ErrorResponse(parameters.status());
  const bool past = !rules.empty() && rules.back().name == "at" && parameters.Has("at");
  const HistoryAsOf then(options.history, past ? parameters.Moment("at", 0) : 0);
  if (!parameters.status().ok()) return ErrorResponse(parameters.status());
  ApiOptions of_then;
  if (past) {
    of_then = options;
    of_then.history = &then;
  }
  Answer answer = route.answer({past ? of_then : options, request, parameters});
  if (!answer.ok()) return ErrorResponse(answer.status());
  if (route.method == "GET" && !route.open && answer->stream == nullptr) AddTag(request, &*answer);
  return *std::move(answer);
}

}  // namespace

http::HttpResponse ErrorResponse(const Status& status) {
  int http = 500;
  std::string_view name = "internal";
  for (const Code& code : kCodes) {
    if (code.status != status.code()) continue;
    http = code.http;
    name = code.name;
  }
  const std::string_view message = ToStd(status.message());
  const size_t colon = message.find(": ");
  JsonWriter out;
  out.BeginObject();
  out.Key("error");
  out.BeginObject();
  TextField("code", name, &out);
  TextField("message", message, &out);
  TextField("place", colon == std::string_view::npos ? "" : message.substr(0, colon), &out);
  out.EndObject();
  out.EndObject();
  http::HttpResponse response = http::HttpResponse::Json(out.Take());
  response.status = http;
  return response;
}

std::vector<http::HttpRoute> Routes(const ApiOptions& options) {
  std::vector<http::HttpRoute> out;
  for (const ApiRoute& route : kRoutes) {
    http::HttpRoute served;
    served.method = route.method;
    served.path = Cat(kApiPrefix, route.path);
    served.role = route.role;
    served.open = route.open;
    // Sign-in and action requests must not wait behind queries.
    if (route.open || route.role == Role::kAct) served.lane = http::Lane::kActions;
    served.handler = [&route, rules = RulesOf(route), options](const http::HttpRequest& request) {
      return Handle(route, rules, options, request);
    };
    out.push_back(std::move(served));
  }
  // Unknown paths under the prefix return errors in the API's format.
  http::HttpRoute other;
  other.method = "GET";
  other.path = Cat(kApiPrefix, "/*");
  other.handler = [](const http::HttpRequest& request) {
    return ErrorResponse(NotFound(
        Cat("path: not found (", Quote(request.path.substr(0, 200)), "); see docs/api.md")));
  };
  out.push_back(std::move(other));
  return out;
}

std::vector<RouteRule> RouteRules() {
  std::vector<RouteRule> out;
  for (const ApiRoute& route : kRoutes) out.push_back({route.method, route.path, RulesOf(route)});
  return out;
}

}  // namespace pitwall::history
