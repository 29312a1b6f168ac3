#include "services/adapters/http/listener.h"

#include <chrono>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::http {

Status Listener::Open(const ListenAddress& address, std::string_view listen) {
  beast::error_code error;
  const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
  const auto fail = [&] {
    return Unavailable(Cat("cannot listen on ", listen, ": ", error.message()));
  };
  acceptor_.open(endpoint.protocol(), error);
  if (error) return fail();
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  acceptor_.bind(endpoint, error);
  if (error) return fail();
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail();
  const asio::ip::tcp::endpoint local = acceptor_.local_endpoint(error);
  if (error) return fail();
  port_ = local.port();
  address_ = local.address().is_v6() ? Cat("[", local.address().to_string(), "]:", port_)
                                     : Cat(local.address().to_string(), ":", port_);
  Accept();
  return OkStatus();
}

void Listener::Close() {
  closed_ = true;
  beast::error_code ignored;
  acceptor_.close(ignored);
  accept_pause_.reset();
}

void Listener::Accept() {
  acceptor_.async_accept([this](beast::error_code error, asio::ip::tcp::socket socket) {
    if (closed_) return;
    if (error) {
      // The process has probably run out of file descriptors, so the next attempt is delayed.
      accept_pause_.emplace(*io_);
      accept_pause_->expires_after(std::chrono::milliseconds(50));
      accept_pause_->async_wait([this](beast::error_code cancelled) {
        if (!cancelled && !closed_) Accept();
      });
      return;
    }
    accepted_(std::move(socket));
    Accept();
  });
}

}  // namespace pitwall::http
