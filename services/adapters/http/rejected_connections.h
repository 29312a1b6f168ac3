// Connections that exceed the HTTP server's limits. Private to this folder.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/adapters/http/connection/byte_stream.h"

namespace pitwall::http {

// Rejected connections, kept open so that the client can read the response. Used only on the I/O
// thread.
class RejectedConnections {
 public:
  // Each connection stays open for at most `linger_ns`. With `tls`, no response is sent.
  RejectedConnections(bool tls, int64_t linger_ns) : tls_(tls), linger_ns_(linger_ns) {}

  // Tries to send 503 to a rejected connection. The write never blocks. A limited number of sockets
  // stay open briefly so that the client can read the response before a reset. With TLS, or if too
  // many such sockets are open, the connection is closed without a response.
  void Reject(asio::ip::tcp::socket socket);
  // Closes all connections.
  void Close();

 private:
  using Bytes = std::array<char, 1024>;

  void PassOver(const std::shared_ptr<ByteStream>& stream, const std::shared_ptr<Bytes>& bytes);

  const bool tls_;
  const int64_t linger_ns_;
  std::vector<std::weak_ptr<ByteStream>> streams_;
  bool closed_ = false;
};

}  // namespace pitwall::http
