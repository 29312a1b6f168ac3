// Listening socket for the HTTP server. Private to this folder.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/base/listen_address.h"
#include "services/base/status.h"

namespace pitwall::http {

// Listening socket that accepts connections until it is closed. After an error, it waits before the
// next attempt. Used only on the I/O thread, except for Open and the address accessor.
class Listener {
 public:
  // Called on the I/O thread for each accepted connection.
  using Accepted = std::function<void(asio::ip::tcp::socket)>;

  Listener(asio::io_context* io, Accepted accepted)
      : io_(io), acceptor_(*io), accepted_(std::move(accepted)) {}

  // Binds the socket and starts accepting connections. Returns Unavailable if the address is in
  // use. `listen` is the configured address, used in messages.
  Status Open(const ListenAddress& address, std::string_view listen);
  void Close();

  uint16_t port() const { return port_; }
  const std::string& address() const { return address_; }  // "127.0.0.1:9870"

 private:
  void Accept();

  asio::io_context* const io_;
  asio::ip::tcp::acceptor acceptor_;
  const Accepted accepted_;
  std::optional<asio::steady_timer> accept_pause_;
  uint16_t port_ = 0;
  std::string address_;
  bool closed_ = false;
};

}  // namespace pitwall::http
