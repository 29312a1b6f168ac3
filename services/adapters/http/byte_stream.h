// A connection, plain or TLS, with the two operations that a session needs. Type-erased: Boost's
// algorithms are compiled once per kind of stream, not once per kind and handler (a fifth of the
// time that they took). Private to this folder.
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

// All calls on the I/O thread. `done` is called there, once, and never before the call returns. The
// stream must live until then.
class ByteStream {
 public:
  using Done = std::function<void(beast::error_code, size_t)>;

  virtual ~ByteStream() = default;
  // The socket and its deadline, which ends reads and writes with beast::error::timeout.
  virtual beast::tcp_stream& tcp() = 0;
  virtual bool encrypted() const = 0;
  // Only of an encrypted stream; the count is 0.
  virtual void Handshake(Done done) = 0;
  virtual void Shutdown(Done done) = 0;
  virtual void ReadSome(asio::mutable_buffer into, Done done) = 0;
  // Both texts, whole, in this order.
  virtual void Write(std::string_view head, std::string_view body, Done done) = 0;
};

// `context` is not null: TLS.
std::unique_ptr<ByteStream> MakeByteStream(asio::ip::tcp::socket socket,
                                           std::shared_ptr<asio::ssl::context> context);

}  // namespace pitwall::http
