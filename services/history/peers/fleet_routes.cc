#include "services/history/peers/fleet_routes.h"

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/history/api/api_routes.h"
#include "services/history/api/openapi_operations.h"
#include "services/history/peers/peer_requests.h"

namespace pitwall::history {
namespace {

using http::HttpRequest;
using http::HttpResponse;

// Returns the (method, path) pairs of routes with a required parameter "job".
std::set<std::pair<std::string, std::string>> RoutesOfJobs() {
  std::set<std::pair<std::string, std::string>> out;
  for (const Operation& operation : Operations()) {
    for (const ParameterRule& parameter : operation.parameters) {
      if (parameter.name == "job" && parameter.required)
        out.emplace(operation.method, Cat(kApiPrefix, operation.path));
    }
  }
  return out;
}

// Returns an error in the API's format.
HttpResponse Fault(int status, std::string_view code, std::string_view message) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Key("error");
  out.BeginObject();
  out.Key("code");
  out.String(code);
  out.Key("message");
  out.String(message);
  out.Key("place");
  const size_t colon = message.find(": ");
  out.String(colon == std::string_view::npos ? "" : message.substr(0, colon));
  out.EndObject();
  out.EndObject();
  HttpResponse response = HttpResponse::Json(out.Take());
  response.status = status;
  return response;
}

HttpResponse FaultOf(const Status& status) {
  const std::string_view message = ToStd(status.message());
  if (absl::IsNotFound(status)) return Fault(404, "not_found", message);
  if (absl::IsInvalidArgument(status)) return Fault(400, "invalid_argument", message);
  if (absl::IsResourceExhausted(status)) return Fault(422, "resource_exhausted", message);
  return Fault(503, "unavailable", message);
}

bool IsPrometheus(std::string_view path) { return StartsWith(path, "/api/v1/"); }

class Fleet {
 public:
  explicit Fleet(const JobLocator* fleet) : fleet_(*fleet) {}

  HttpResponse OfAll(const HttpRequest& request, const http::HttpHandler& answer) const {
    const std::optional<Turn> turn = Turn::Take(&waiting_);
    if (!turn.has_value()) return Busy(request);
    return answer(request);
  }

  HttpResponse OfJob(const HttpRequest& request, const http::HttpHandler& own) const {
    const std::string job(request.Query("job"));
    if (job.empty()) return own(request);  // returns the error for the missing job
    const std::optional<Turn> turn = Turn::Take(&waiting_);
    if (!turn.has_value()) return Busy(request);
    const StatusOr<JobHolder> holder = fleet_.Holder(job);
    if (!holder.ok()) return FaultOf(holder.status());
    HttpRequest exact = request;
    for (auto& [name, value] : exact.query) {
      if (name == "job") value = holder->id;
    }
    if (request.method == "DELETE") {
      if (std::optional<HttpResponse> fault = DeleteElsewhere(exact, holder->index, own))
        return *std::move(fault);
    }
    return At(holder->index, exact, own);
  }

 private:
  // A slot for a handler that waits for peers.
  class Turn {
   public:
    static std::optional<Turn> Take(std::atomic<int>* waiting) {
      if (waiting->fetch_add(1) < kMaxWaiting) return Turn(waiting);
      waiting->fetch_sub(1);
      return std::nullopt;
    }
    Turn(Turn&& other) noexcept : waiting_(std::exchange(other.waiting_, nullptr)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (waiting_ != nullptr) waiting_->fetch_sub(1);
    }

   private:
    explicit Turn(std::atomic<int>* waiting) : waiting_(waiting) {}
    std::atomic<int>* waiting_;
  };

  static HttpResponse Busy(const HttpRequest& request) {
    const std::string why =
        Cat("peers: ", kMaxWaiting, " requests are already waiting for peers; retry later");
    if (!IsPrometheus(request.path)) return Fault(503, "unavailable", why);
    HttpResponse response = HttpResponse::Json(
        Cat(R"({"status":"error","errorType":"unavailable","error":")", why, R"("})"));
    response.status = 503;
    return response;
  }

  HttpResponse At(int index, const HttpRequest& request, const http::HttpHandler& own) const {
    if (index == fleet_.index()) return own(request);
    StatusOr<HttpResponse> response = fleet_.peer(index)->Forward(request);
    if (response.ok()) return *std::move(response);
    return FaultOf(Status(response.status().code(),
                          Cat("job ", Quote(request.Query("job")), ": stored by another process: ",
                              ToStd(response.status().message()))));
  }

  // Deletes the job's data from all processes except `holder`. Such data was stored before the
  // job's partition moved. Returns an error response if the data could not be deleted.
  std::optional<HttpResponse> DeleteElsewhere(const HttpRequest& request, int holder,
                                              const http::HttpHandler& own) const {
    for (int i = 0; i < fleet_.size(); ++i) {
      if (i == holder) continue;
      HttpResponse response = At(i, request, own);
      if (response.status / 100 != 2 && response.status != 404) return response;
    }
    return std::nullopt;
  }

  const JobLocator& fleet_;
  mutable std::atomic<int> waiting_{0};
};

}  // namespace

std::vector<http::HttpRoute> FleetRoutes(const FederatedHistory* fleet, const History* own_history,
                                         std::vector<http::HttpRoute> all,
                                         std::vector<http::HttpRoute> own) {
  const auto shared = std::make_shared<const Fleet>(&fleet->fleet());
  const auto of_jobs = RoutesOfJobs();
  std::vector<http::HttpRoute> out;
  for (size_t i = 0; i < all.size(); ++i) {
    http::HttpRoute& route = all[i];
    const http::HttpHandler here = own[i].handler;
    const bool of_job = of_jobs.contains({route.method, route.path});
    // All other routes, such as sessions and page files, are identical on every process.
    const bool of_all = IsPrometheus(route.path) || route.path == Cat(kApiPrefix, "/jobs") ||
                        route.path == Cat(kApiPrefix, "/stream");
    if (of_job || of_all) {
      route.handler = [shared, of_job, here,
                       merged = std::move(route.handler)](const HttpRequest& request) {
        if (!request.Header(kPeerHeader).empty()) return here(request);
        return of_job ? shared->OfJob(request, here) : shared->OfAll(request, merged);
      };
    }
    out.push_back(std::move(route));
  }
  http::HttpRoute peer;
  peer.method = "POST";
  peer.path = std::string(kPeerPath);
  peer.role = Role::kView;
  peer.handler = [own_history](const HttpRequest& request) {
    return AnswerPeer(*own_history, request.body);
  };
  out.push_back(std::move(peer));
  return out;
}

}  // namespace pitwall::history
