#include "services/adapters/http/connection/client_watch.h"

#include <poll.h>

#include <chrono>
#include <utility>

namespace pitwall::http {

std::shared_ptr<CancelToken> ClientWatch::Begin(std::shared_ptr<void> owner) {
  cancel_ = std::make_shared<CancelToken>();
  watched_ns_ = 0;
  Wait(cancel_, std::move(owner));
  return cancel_;
}

void ClientWatch::End() {
  cancel_.reset();
  timer_.cancel();
}

void ClientWatch::Abort() {
  timer_.cancel();
  if (cancel_ != nullptr) cancel_->Cancel(CancelToken::Reason::kPeerGone);
}

void ClientWatch::Wait(std::shared_ptr<CancelToken> token, std::shared_ptr<void> owner) {
  const int64_t pause = timeouts_.watch_interval_ns;
  timer_.expires_after(std::chrono::nanoseconds(pause));
  timer_.async_wait([this, owner = std::move(owner), token = std::move(token),
                     pause](beast::error_code error) mutable {
    if (error || cancel_ != token) return;
    watched_ns_ += pause;
    if (ClientIsGone()) {
      token->Cancel(CancelToken::Reason::kPeerGone);
    } else if (watched_ns_ >= timeouts_.handler_timeout_ns) {
      token->Cancel(CancelToken::Reason::kTimeout);
    }
    if (!token->canceled()) Wait(std::move(token), std::move(owner));
  });
}

bool ClientWatch::ClientIsGone() {
  pollfd socket{stream_->tcp().socket().native_handle(), POLLRDHUP, 0};
  return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace pitwall::http
