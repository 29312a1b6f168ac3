#include "services/adapters/http/rejected_connections.h"

#include <chrono>
#include <string_view>
#include <utility>

namespace pitwall::http {
namespace {

constexpr size_t kMostTurnedAway = 16;

}  // namespace

void RejectedConnections::Reject(asio::ip::tcp::socket socket) {
  std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
  if (tls_ || streams_.size() >= kMostTurnedAway) return;
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
      "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\n"
      "too many connections\n";
  beast::error_code error;
  socket.non_blocking(true, error);
  socket.write_some(asio::buffer(kAnswer), error);
  if (error) return;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  const std::shared_ptr<ByteStream> stream = MakeByteStream(std::move(socket), nullptr);
  streams_.push_back(stream);
  stream->tcp().expires_after(std::chrono::nanoseconds(linger_ns_));
  PassOver(stream, std::make_shared<Bytes>());
}

void RejectedConnections::PassOver(const std::shared_ptr<ByteStream>& stream,
                                   const std::shared_ptr<Bytes>& bytes) {
  stream->ReadSome(asio::buffer(*bytes), [this, stream, bytes](beast::error_code error, size_t) {
    if (!error && !closed_) PassOver(stream, bytes);
  });
}

void RejectedConnections::Close() {
  closed_ = true;
  for (const auto& weak : streams_) {
    if (const auto stream = weak.lock()) stream->tcp().close();
  }
}

}  // namespace pitwall::http
