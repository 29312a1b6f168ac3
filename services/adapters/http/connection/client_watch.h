// Watches a client while its request is being handled.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/adapters/http/connection/http_limits.h"
#include "services/base/cancellation.h"

namespace pitwall::http {

// Watches a request's client, and cancels the request if the client closes the connection or the
// request takes too long. Used only on the I/O thread.
class ClientWatch {
 public:
  // Borrows all arguments.
  ClientWatch(ByteStream* stream, const HttpTimeouts& timeouts)
      : stream_(stream), timeouts_(timeouts), timer_(stream->tcp().get_executor()) {}

  // Starts watching and returns the request's cancellation token. `owner` keeps this object alive.
  std::shared_ptr<CancelToken> Begin(std::shared_ptr<void> owner);
  // Ends the watch because the response is ready.
  void End();
  // Ends the watch and cancels any pending request because the connection is closing.
  void Abort();

 private:
  // Periodically checks that the client is still connected. The check does not consume data, so
  // bytes of the next request stay available.
  void Wait(std::shared_ptr<CancelToken> token, std::shared_ptr<void> owner);
  bool ClientIsGone();

  ByteStream* const stream_;
  const HttpTimeouts& timeouts_;
  asio::steady_timer timer_;             // waits between two client checks
  std::shared_ptr<CancelToken> cancel_;  // not null while a request is being handled
  int64_t watched_ns_ = 0;               // time since the request was complete
};

}  // namespace pitwall::http
