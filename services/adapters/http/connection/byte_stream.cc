#include "services/adapters/http/connection/byte_stream.h"

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <utility>

namespace pitwall::http {
namespace {

using Buffers = std::array<asio::const_buffer, 2>;

Buffers BuffersOf(std::string_view head, std::string_view body) {
  return {asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())};
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(asio::ip::tcp::socket socket) : stream_(std::move(socket)) {}
  beast::tcp_stream& tcp() override { return stream_; }
  bool encrypted() const override { return false; }
  void Handshake(Done) override {}
  void Shutdown(Done) override {}
  void ReadSome(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(std::string_view head, std::string_view body, Done done) override {
    asio::async_write(stream_, BuffersOf(head, body), std::move(done));
  }

 private:
  beast::tcp_stream stream_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}
  beast::tcp_stream& tcp() override { return stream_.next_layer(); }
  bool encrypted() const override { return true; }
  void Handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](beast::error_code error) { done(error, 0); });
  }
  void Shutdown(Done done) override {
    stream_.async_shutdown([done = std::move(done)](beast::error_code error) { done(error, 0); });
  }
  void ReadSome(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(std::string_view head, std::string_view body, Done done) override {
    asio::async_write(stream_, BuffersOf(head, body), std::move(done));
  }

 private:
  const std::shared_ptr<asio::ssl::context> context_;
  // Beast's own alias was renamed between versions, but this spelling exists in all of them.
  asio::ssl::stream<beast::tcp_stream> stream_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(asio::ip::tcp::socket socket,
                                           std::shared_ptr<asio::ssl::context> context) {
  if (context == nullptr) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

}  // namespace pitwall::http
