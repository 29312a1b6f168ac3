#include "services/adapters/http/handler_lanes.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "services/base/cancellation.h"
#include "services/base/log.h"

namespace pitwall::http {
namespace {

constexpr int kClientClosedRequest = 499;  // same status as in nginx

// Runs the handler. A canceled read-only request is not started. An action that has started is
// never canceled.
HttpResponse Answer(const HttpRoute& route, const Arrival& arrival) {
  const HttpRequest& request = arrival.request;
  if (arrival.cancel->canceled() && (request.method == "GET" || request.method == "HEAD"))
    return HttpResponse::Text(kClientClosedRequest, "the request was canceled\n");
  const CancelScope scope(route.lane == Lane::kActions ? nullptr : arrival.cancel.get());
  try {
    return route.handler(request);
  } catch (const std::exception& e) {
    PITWALL_LOG(kError, "http", request.path, ": ", e.what());
    return HttpResponse::Text(500, "internal error\n");
  }
}

}  // namespace

HandlerLanes::HandlerLanes(const HttpServerOptions& options, asio::io_context* io)
    : options_(options),
      io_(io),
      queries_(static_cast<size_t>(options.handler_threads)),
      actions_(static_cast<size_t>(options.action_threads)),
      health_(static_cast<size_t>(options.health_threads)) {}

void HandlerLanes::Run(const HttpRoute* route, Arrival arrival,
                       std::function<void(HttpResponse)> done) {
  const auto lane = static_cast<size_t>(route->lane);
  ++waiting_[lane];
  // The work guard keeps run() from returning until the response is posted back.
  asio::post(*pools_[lane],
             [this, lane, route, arrival = std::move(arrival), done = std::move(done),
              guard = asio::make_work_guard(*io_)]() mutable {
               HttpResponse response = Answer(*route, arrival);
               --waiting_[lane];
               asio::post(*io_, [done = std::move(done), response = std::move(response)]() mutable {
                 done(std::move(response));
               });
             });
}

void HandlerLanes::Join() {
  for (asio::thread_pool* pool : pools_) pool->join();
}

}  // namespace pitwall::http
