// Threads and queues for handlers. Private to this folder.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>

#include "services/adapters/http/connection/session.h"
#include "services/adapters/http/http_server.h"

namespace pitwall::http {

// Thread pools that run the handlers. Each lane has its own pool and counts its waiting and running
// requests. IsFull and Run are called on the I/O thread.
class HandlerLanes {
 public:
  // Borrows `options` and `io`, the context of the I/O thread.
  HandlerLanes(const HttpServerOptions& options, asio::io_context* io);

  // Returns true if the lane has reached its request limit.
  bool IsFull(Lane lane) const {
    return waiting_[static_cast<size_t>(lane)].load() >= options_.limits.max_waiting_requests;
  }
  // Runs the handler of `route` on one of its lane's threads, and then `done` on the I/O thread.
  // `route` must outlive the request.
  void Run(const HttpRoute* route, Arrival arrival, std::function<void(HttpResponse)> done);
  // Waits until all handlers have returned.
  void Join();

 private:
  const HttpServerOptions& options_;
  asio::io_context* const io_;
  asio::thread_pool queries_, actions_, health_;
  const std::array<asio::thread_pool*, kLanes> pools_ = {&queries_, &actions_,
                                                         &health_};  // by Lane
  std::array<std::atomic<size_t>, kLanes> waiting_{};                // by Lane
};

}  // namespace pitwall::http
