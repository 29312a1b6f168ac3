// One connection of the HTTP server. Private to this folder.
#pragma once

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "services/adapters/http/header_check.h"
#include "services/adapters/http/http_server.h"
#include "services/base/cancellation.h"

namespace pitwall::http {

namespace beast = boost::beast;
namespace asio = boost::asio;
using PlainStream = beast::tcp_stream;
// Beast's own alias was renamed between versions; this spelling exists in all of them.
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

// What a request is and where it comes from.
struct Arrival {
  HttpRequest request;
  std::string target;
  bool reserved = false;  // on a reserved connection
  std::shared_ptr<CancelToken> cancel;
};

// What a session needs of its server. All calls on the I/O thread.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  virtual const HttpServerOptions& options() const = 0;
  // Runs the request and calls `done` on the I/O thread, once.
  virtual void Handle(Arrival arrival, std::function<void(HttpResponse)> done) = 0;
  virtual void CountRequest() = 0;
  virtual void CountBadRequest(Refusal reason) = 0;
  virtual bool stopping() const = 0;
  // False: there are too many streams. Else the session closes it once.
  virtual bool OpenStream(const std::string& peer) = 0;
  virtual void CloseStream(const std::string& peer) = 0;
};

class AnySession {
 public:
  virtual ~AnySession() = default;
  virtual void Run() = 0;
  virtual void BeginStop() = 0;  // close as soon as no request is under way
  virtual void Close() = 0;      // close now
};

// Lives as long as an operation of it is pending; the server holds weak pointers. All on the I/O
// thread.
template <typename Stream>
class Session final : public AnySession, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <typename... Extra>
  Session(SessionOwner* owner, std::shared_ptr<void> keep, asio::ip::tcp::socket socket,
          std::string peer, bool reserved, Extra&... extra)
      : owner_(owner),
        reserved_(reserved),
        keep_(std::move(keep)),
        stream_(std::move(socket), extra...),
        buffer_(owner->options().max_header_bytes + owner->options().max_body_bytes + 4096),
        peer_(std::move(peer)),
        watch_(stream_.get_executor()),
        pause_(stream_.get_executor()) {}
  ~Session() override {
    if (body_ != nullptr) owner_->CloseStream(peer_);
  }

  void Run() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      Deadline(ArrivalTimeout(owner_->options().header_timeout_ns));
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](beast::error_code error) {
                                if (error == beast::error::timeout)
                                  self->owner_->CountBadRequest(Refusal::kSlowHeader);
                                if (!error) self->AwaitRequest();
                              });
    } else {
      AwaitRequest();
    }
  }

  void BeginStop() override {
    if (idle_) Close();
    if (body_ != nullptr) pause_.cancel();
  }

  void Close() override {
    closed_ = true;
    pause_.cancel();
    watch_.cancel();
    if (cancel_ != nullptr) cancel_->Cancel(CancelToken::Reason::kPeerGone);
    beast::error_code ignored;
    beast::get_lowest_layer(stream_).socket().shutdown(asio::ip::tcp::socket::shutdown_both,
                                                       ignored);
    beast::get_lowest_layer(stream_).close();
  }

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  void Deadline(int64_t ns) {
    beast::get_lowest_layer(stream_).expires_after(std::chrono::nanoseconds(ns));
  }

  int64_t ArrivalTimeout(int64_t ns) const {
    return reserved_ ? std::min(ns, owner_->options().reserved_timeout_ns) : ns;
  }

  void AwaitRequest() {
    if (owner_->stopping()) return Finish();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(owner_->options().max_header_bytes));
    parser_->body_limit(owner_->options().max_body_bytes);
    idle_ = buffer_.size() == 0;
    // A new connection has no reason to wait; one that is kept alive has.
    Deadline(first_ || !idle_ ? ArrivalTimeout(owner_->options().header_timeout_ns)
                              : owner_->options().idle_timeout_ns);
    kept_idle_ = !first_ && idle_;
    first_ = false;
    ReadHeader();
  }

  // The whole header first, within one deadline from its first byte on: a byte now and then does
  // not keep a request open. It is judged before Beast's parser sees it.
  void ReadHeader() {
    std::string_view text(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    if (text.substr(0, 2) == "\r\n") {  // an empty line before the request line is allowed
      buffer_.consume(2);
      text.remove_prefix(2);
    }
    // TLS on a plain port, most likely: it would send no more before an answer.
    if (!text.empty() && text[0] != '\r' && (text[0] < 'A' || text[0] > 'Z'))
      return Refuse(400, Refusal::kMalformed, "malformed request: a method is expected\n");
    const size_t end = text.find("\r\n\r\n");
    if (end != std::string_view::npos && end <= owner_->options().max_header_bytes) {
      const std::string_view fault = HeaderFault(text.substr(0, end + 4));
      if (!fault.empty())
        return Refuse(400, Refusal::kMalformed, "malformed request: " + std::string(fault) + "\n");
      return ReadRest();
    }
    if (text.size() > owner_->options().max_header_bytes)
      return Refuse(431, Refusal::kTooLarge, "the header is too large\n");
    // Lines that end without CR would never end the header.
    const size_t line = text.find('\n');
    if (line != std::string_view::npos && (line == 0 || text[line - 1] != '\r'))
      return Refuse(400, Refusal::kMalformed, "malformed request: a line ends without CR\n");
    stream_.async_read_some(buffer_.prepare(4096), [self = this->shared_from_this()](
                                                       beast::error_code error, size_t bytes) {
      self->OnHeaderBytes(error, bytes);
    });
  }

  void OnHeaderBytes(beast::error_code error, size_t bytes) {
    if (error == beast::error::timeout) {
      // An idle connection that is closed has done nothing wrong.
      if (!kept_idle_) owner_->CountBadRequest(Refusal::kSlowHeader);
      return;  // the stream is closed already
    }
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
      if (buffer_.size() == 0) return Finish();
      return Refuse(400, Refusal::kMalformed, "malformed request: the header has no end\n");
    }
    if (error) return;  // the peer went away
    if (kept_idle_) Deadline(owner_->options().header_timeout_ns);
    kept_idle_ = idle_ = false;
    buffer_.commit(bytes);
    ReadHeader();
  }

  void ReadRest() {
    idle_ = kept_idle_ = false;
    Deadline(ArrivalTimeout(owner_->options().body_timeout_ns));
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](beast::error_code error, size_t) {
                              self->OnRequest(error);
                            });
  }

  void OnRequest(beast::error_code error) {
    namespace http = beast::http;
    if (error == http::error::end_of_stream) return Finish();
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refuse(431, Refusal::kTooLarge, "the header is too large\n");
    }
    if (error == http::error::body_limit)
      return Refuse(413, Refusal::kTooLarge, "the body is too large\n");
    if (error == beast::error::timeout) {
      owner_->CountBadRequest(Refusal::kSlowBody);
      return;  // the stream is closed already
    }
    if (error && error.category() == make_error_code(http::error::bad_method).category()) {
      return Refuse(400, Refusal::kMalformed, "malformed request\n");
    }
    if (error) return;  // the peer went away
    owner_->CountRequest();

    const auto message = parser_->release();
    keep_alive_ = message.keep_alive() && !reserved_;
    head_ = message.method() == http::verb::head;
    version_ = message.version();
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.peer = peer_;
    for (const auto& field : message) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      request.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    std::string target(message.target());
    request.body = std::move(const_cast<std::string&>(message.body()));
    // The request is in: while the handler works, no deadline of ours runs.
    beast::get_lowest_layer(stream_).expires_never();
    cancel_ = std::make_shared<CancelToken>();
    watched_ns_ = 0;
    WatchClient(cancel_);
    owner_->Handle({std::move(request), std::move(target), reserved_, cancel_},
                   [self = this->shared_from_this()](HttpResponse response) {
                     self->cancel_.reset();
                     self->watch_.cancel();
                     self->Reply(std::move(response));
                   });
  }

  // Looks from time to time whether the client is still there. Nothing is read meanwhile, so what
  // it sends after the request stays for the next one.
  void WatchClient(std::shared_ptr<CancelToken> token) {
    const int64_t pause = owner_->options().watch_interval_ns;
    watch_.expires_after(std::chrono::nanoseconds(pause));
    watch_.async_wait([self = this->shared_from_this(), token = std::move(token),
                       pause](beast::error_code error) mutable {
      if (error || self->cancel_ != token) return;
      self->watched_ns_ += pause;
      if (self->ClientIsGone()) {
        token->Cancel(CancelToken::Reason::kPeerGone);
      } else if (self->watched_ns_ >= self->owner_->options().handler_timeout_ns) {
        token->Cancel(CancelToken::Reason::kTimeout);
      }
      if (!token->canceled()) self->WatchClient(std::move(token));
    });
  }

  bool ClientIsGone() {
    pollfd socket{beast::get_lowest_layer(stream_).socket().native_handle(), POLLRDHUP, 0};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  void Refuse(int status, Refusal reason, std::string_view text) {
    owner_->CountBadRequest(reason);
    keep_alive_ = false;
    head_ = false;
    Reply(HttpResponse::Text(status, text));
  }

  void Reply(HttpResponse response) {
    namespace http = beast::http;
    if (owner_->stopping()) keep_alive_ = false;
    if (response.stream != nullptr && !head_) {
      if (owner_->OpenStream(peer_)) return BeginStream(std::move(response));
      response = HttpResponse::Text(503, "too many streams are open\n");
      response.headers.emplace_back("Retry-After", "5");
    }
    message_ = {};
    message_.version(version_);
    message_.result(static_cast<unsigned>(response.status));
    message_.set(http::field::server, "pitwall");
    message_.set(http::field::content_type, response.content_type);
    message_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) message_.set(name, value);
    message_.content_length(response.body.size());
    message_.keep_alive(keep_alive_);
    if (!head_) message_.body() = std::move(response.body);
    Deadline(owner_->options().write_timeout_ns);
    const auto written = [self = this->shared_from_this()](beast::error_code error, size_t) {
      if (error) return;
      if (!self->keep_alive_) return self->Finish();
      self->AwaitRequest();
    };
    if (head_) {
      serializer_.emplace(message_);
      http::async_write_header(stream_, *serializer_, written);
    } else {
      http::async_write(stream_, message_, written);
    }
  }

  // The header now, then what the stream gives, in chunks. What the client sends meanwhile is
  // dropped; that it goes away is seen.
  void BeginStream(HttpResponse response) {
    namespace http = beast::http;
    body_ = std::move(response.stream);
    keep_alive_ = false;
    message_ = {};
    message_.version(version_);
    message_.result(static_cast<unsigned>(response.status));
    message_.set(http::field::server, "pitwall");
    message_.set(http::field::content_type, response.content_type);
    message_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) message_.set(name, value);
    message_.keep_alive(false);
    message_.chunked(version_ >= 11);
    serializer_.emplace(message_);
    Deadline(owner_->options().write_timeout_ns);
    http::async_write_header(stream_, *serializer_,
                             [self = this->shared_from_this()](beast::error_code error, size_t) {
                               if (error) return self->Close();
                               self->WatchPeer();
                               self->PullNext();
                             });
  }

  void WatchPeer() {
    // For reading alone while a write is under way.
    beast::get_lowest_layer(stream_).expires_never();
    stream_.async_read_some(asio::buffer(drained_),
                            [self = this->shared_from_this()](beast::error_code error, size_t) {
                              self->drain_left_ -= self->drain_left_ > 0 ? 1 : 0;
                              if (error || self->drain_left_ == 0) return self->Close();
                              if (!self->closed_ && !self->stream_over_) self->WatchPeer();
                            });
  }

  void PullNext() {
    if (closed_ || stream_over_) return;
    const bool stop = owner_->stopping();
    chunk_ = stop ? body_->Farewell() : body_->Pull();
    stream_over_ = stop || body_->over();
    if (chunk_.empty()) return stream_over_ ? EndStream() : Pause();
    Deadline(owner_->options().write_timeout_ns);
    const auto written = [self = this->shared_from_this()](beast::error_code error, size_t) {
      if (error) return self->Close();
      if (self->stream_over_) return self->EndStream();
      self->PullNext();
    };
    if (version_ >= 11) {
      asio::async_write(stream_, beast::http::make_chunk(asio::buffer(chunk_)), written);
    } else {
      asio::async_write(stream_, asio::buffer(chunk_), written);
    }
  }

  void Pause() {
    pause_.expires_after(std::chrono::nanoseconds(owner_->options().stream_pause_ns));
    pause_.async_wait([self = this->shared_from_this()](beast::error_code) { self->PullNext(); });
  }

  void EndStream() {
    if (version_ < 11) return Close();
    Deadline(owner_->options().write_timeout_ns);
    asio::async_write(
        stream_, beast::http::make_chunk_last(),
        [self = this->shared_from_this()](beast::error_code, size_t) { self->Close(); });
  }

  // An orderly end: the peer reads what was written. What it still sends is read and dropped for a
  // moment, since closing with unread input makes the kernel reset the connection and the peer lose
  // the answer.
  void Finish() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      Deadline(owner_->options().linger_ns);
      stream_.async_shutdown(
          [self = this->shared_from_this()](beast::error_code) { self->Close(); });
    } else {
      beast::error_code ignored;
      stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
      Deadline(owner_->options().linger_ns);
      Drain();
    }
  }

  void Drain() {
    drain_left_ -= drain_left_ > 0 ? 1 : 0;
    if (drain_left_ == 0) return Close();
    stream_.async_read_some(asio::buffer(drained_),
                            [self = this->shared_from_this()](beast::error_code error, size_t) {
                              if (error) return self->Close();
                              self->Drain();
                            });
  }

  SessionOwner* const owner_;
  const bool reserved_;
  const std::shared_ptr<void> keep_;  // the TLS context
  Stream stream_;
  beast::flat_buffer buffer_;
  const std::string peer_;
  std::optional<Parser> parser_;
  beast::http::response<beast::http::string_body> message_;
  std::optional<beast::http::response_serializer<beast::http::string_body>> serializer_;
  std::shared_ptr<CancelToken> cancel_;   // not null: a request is being handled
  asio::steady_timer watch_;              // between two looks at the client
  int64_t watched_ns_ = 0;                // since the request was complete
  asio::steady_timer pause_;              // between two pulls
  std::shared_ptr<ResponseStream> body_;  // not null: the connection is a stream to its end
  std::string chunk_;                     // that is being written
  std::array<char, 4096> drained_{};
  int drain_left_ = 256;
  unsigned version_ = 11;
  bool first_ = true;
  bool idle_ = true;        // no byte of a request has come
  bool kept_idle_ = false;  // idle after a request
  bool keep_alive_ = false;
  bool head_ = false;
  bool stream_over_ = false;
  bool closed_ = false;
};

}  // namespace pitwall::http
