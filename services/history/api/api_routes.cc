#include "services/history/api/api_routes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/base/check.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"
#include "services/history/api/openapi_operations.h"
#include "services/history/views/as_of.h"

namespace pitwall::history {
namespace {

// Handler of an operation in openapi.yaml, which has the parameters and the role.
struct ApiRoute {
  std::string_view method;
  std::string_view path;
  Answer (*answer)(const ApiCall& call);
};

constexpr ApiRoute kRoutes[] = {
#define PITWALL_ROUTE(method, path, handler) {method, path, handler},
#include "services/history/api/routes.inc"
};

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

// Adds an entity tag, and omits the body if the client already has this version. A response that
// must not be cached has no tag.
void AddTag(const http::HttpRequest& request, http::HttpResponse* response) {
  for (const auto& [name, value] : response->headers) {
    if (name == "Cache-Control") return;
  }
  const std::string tag = Cat("\"", StableHashHex(response->body), "\"");
  response->headers.emplace_back("ETag", tag);
  response->headers.emplace_back("Cache-Control", "private, no-cache");
  if (!Matches(request.Header("if-none-match"), tag)) return;
  response->status = 304;
  response->body.clear();
}

// Returns true if the operation accepts `at`, a point in time as of which it answers.
bool TravelsInTime(const Operation& operation) {
  return std::any_of(operation.parameters.begin(), operation.parameters.end(),
                     [](const ParameterRule& rule) { return rule.name == "at"; });
}

http::HttpResponse Handle(const ApiRoute& route, const Operation& operation,
                          const ApiOptions& options, const http::HttpRequest& request) {
  Parameters parameters(request, operation.parameters);
  if (!parameters.status().ok()) return ErrorResponse(parameters.status());
  const bool past = TravelsInTime(operation) && parameters.Has("at");
  const HistoryAsOf then(options.history, past ? parameters.Moment("at", 0) : 0);
  if (!parameters.status().ok()) return ErrorResponse(parameters.status());
  ApiOptions of_then;
  if (past) {
    of_then = options;
    of_then.history = &then;
  }
  Answer answer = route.answer({past ? of_then : options, request, parameters});
  if (!answer.ok()) return ErrorResponse(answer.status());
  if (route.method == "GET" && !operation.open && answer->stream == nullptr)
    AddTag(request, &*answer);
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
  http::HttpResponse response = JsonAnswer([&](JsonWriter* out) {
    ObjectField("error", out, [&] {
      TextField("code", name, out);
      TextField("message", message, out);
      TextField("place", colon == std::string_view::npos ? "" : message.substr(0, colon), out);
    });
  });
  response.status = http;
  return response;
}

Status CheckRoutes() {
  std::vector<RouteName> names;
  for (const ApiRoute& route : kRoutes) names.emplace_back(route.method, route.path);
  return MatchRoutes(Operations(), names);
}

std::vector<http::HttpRoute> Routes(const ApiOptions& options) {
  PITWALL_CHECK_OK(CheckRoutes());
  std::vector<http::HttpRoute> out;
  for (const ApiRoute& route : kRoutes) {
    const Operation& operation = *FindOperation(Operations(), route.method, route.path);
    http::HttpRoute served;
    served.method = route.method;
    served.path = Cat(kApiPrefix, route.path);
    served.role = operation.role;
    served.open = operation.open;
    // Sign-in and action requests must not wait behind queries.
    if (operation.open || operation.role == Role::kAct) served.lane = http::Lane::kActions;
    served.handler = [&route, &operation, options](const http::HttpRequest& request) {
      return Handle(route, operation, options, request);
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

}  // namespace pitwall::history
