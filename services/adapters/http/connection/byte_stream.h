// Type-erased plain or TLS connection, so that Boost's algorithms are instantiated once per stream
// type instead of once per stream type and operation. Private to this folder.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace pitwall::http {

namespace beast = boost::beast;
namespace asio = boost::asio;

// All calls must be made on the I/O thread. Each operation calls `done` exactly once, on the I/O
// thread, after the call has returned. The stream and the buffers must outlive the operation.
class ByteStream {
 public:
  using Done = std::function<void(beast::error_code, size_t)>;

  virtual ~ByteStream() = default;
  // Socket with a deadline. Reads and writes that exceed the deadline fail with
  // beast::error::timeout.
  virtual beast::tcp_stream& tcp() = 0;
  virtual bool encrypted() const = 0;
  // Handshake and Shutdown require an encrypted stream. They pass 0 as the byte count.
  virtual void Handshake(Done done) = 0;
  virtual void Shutdown(Done done) = 0;
  virtual void ReadSome(asio::mutable_buffer into, Done done) = 0;
  // Writes all of `head`, then all of `body`.
  virtual void Write(std::string_view head, std::string_view body, Done done) = 0;
};

// Creates a TLS stream if `context` is not null.
std::unique_ptr<ByteStream> MakeByteStream(asio::ip::tcp::socket socket,
                                           std::shared_ptr<asio::ssl::context> context);

}  // namespace pitwall::http
