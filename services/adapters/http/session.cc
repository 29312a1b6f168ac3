#include "services/adapters/http/session.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <sstream>
#include <utility>

#include "services/adapters/http/connection/header_check.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

constexpr size_t kReadBytes = 64 << 10;

}  // namespace

Session::Session(SessionOwner* owner, std::unique_ptr<ByteStream> stream, std::string peer,
                 bool reserved)
    : owner_(owner),
      reserved_(reserved),
      stream_(std::move(stream)),
      buffer_(owner->options().limits.max_header_bytes + kReadBytes),
      peer_(std::move(peer)),
      watch_(stream_->tcp().get_executor()),
      pause_(stream_->tcp().get_executor()) {}

Session::~Session() {
  if (body_ != nullptr) owner_->CloseStream(peer_);
}

void Session::Run() {
  if (!stream_->encrypted()) return AwaitRequest();
  Deadline(ArrivalTimeout(owner_->options().timeouts.header_timeout_ns));
  stream_->Handshake([self = shared_from_this()](beast::error_code error, size_t) {
    if (error == beast::error::timeout) self->owner_->CountBadRequest(Refusal::kSlowHeader);
    if (!error) self->AwaitRequest();
  });
}

void Session::BeginStop() {
  if (idle_) Close();
  if (body_ != nullptr) pause_.cancel();
}

void Session::Close() {
  closed_ = true;
  pause_.cancel();
  watch_.cancel();
  if (cancel_ != nullptr) cancel_->Cancel(CancelToken::Reason::kPeerGone);
  beast::error_code ignored;
  stream_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_->tcp().close();
}

void Session::Deadline(int64_t ns) { stream_->tcp().expires_after(std::chrono::nanoseconds(ns)); }

int64_t Session::ArrivalTimeout(int64_t ns) const {
  return reserved_ ? std::min(ns, owner_->options().timeouts.reserved_timeout_ns) : ns;
}

void Session::AwaitRequest() {
  if (owner_->stopping()) return Finish();
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<uint32_t>(owner_->options().limits.max_header_bytes));
  parser_->body_limit(owner_->options().limits.max_body_bytes);
  idle_ = buffer_.size() == 0;
  // A new connection must send its header soon. Only a kept-alive connection may be idle.
  Deadline(first_ || !idle_ ? ArrivalTimeout(owner_->options().timeouts.header_timeout_ns)
                            : owner_->options().timeouts.idle_timeout_ns);
  kept_idle_ = !first_ && idle_;
  first_ = false;
  ReadHeader();
}

// Reads the whole header within one deadline from its first byte, so that single bytes cannot keep
// a request open. The header is checked before Beast parses it.
void Session::ReadHeader() {
  std::string_view text(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  if (text.substr(0, 2) == "\r\n") {  // an empty line before the request line is allowed
    buffer_.consume(2);
    text.remove_prefix(2);
  }
  // The client probably uses TLS on a plain-text port and would wait for a response before it sends
  // more data.
  if (!text.empty() && text[0] != '\r' && (text[0] < 'A' || text[0] > 'Z'))
    return Refuse(400, Refusal::kMalformed, "malformed request: it must start with a method\n");
  const size_t end = text.find("\r\n\r\n");
  if (end != std::string_view::npos && end <= owner_->options().limits.max_header_bytes) {
    const std::string_view fault = HeaderFault(text.substr(0, end + 4));
    if (!fault.empty())
      return Refuse(400, Refusal::kMalformed, "malformed request: " + std::string(fault) + "\n");
    idle_ = kept_idle_ = false;
    Deadline(ArrivalTimeout(owner_->options().timeouts.body_timeout_ns));
    return ReadRest();
  }
  if (text.size() > owner_->options().limits.max_header_bytes)
    return Refuse(431, Refusal::kTooLarge, "the header is too large\n");
  // A header whose lines end without CR would never be recognized as complete.
  const size_t line = text.find('\n');
  if (line != std::string_view::npos && (line == 0 || text[line - 1] != '\r'))
    return Refuse(400, Refusal::kMalformed, "malformed request: a line does not end with CRLF\n");
  stream_->ReadSome(buffer_.prepare(4096),
                    [self = shared_from_this()](beast::error_code error, size_t bytes) {
                      self->OnHeaderBytes(error, bytes);
                    });
}

void Session::OnHeaderBytes(beast::error_code error, size_t bytes) {
  if (error == beast::error::timeout) {
    // Closing an idle connection is not counted as a bad request.
    if (!kept_idle_) owner_->CountBadRequest(Refusal::kSlowHeader);
    return;  // the stream is already closed
  }
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    if (buffer_.size() == 0) return Finish();
    return Refuse(400, Refusal::kMalformed, "malformed request: the header has no end\n");
  }
  if (error) return;  // the peer has disconnected
  if (kept_idle_) Deadline(owner_->options().timeouts.header_timeout_ns);
  kept_idle_ = idle_ = false;
  buffer_.commit(bytes);
  ReadHeader();
}

// Passes buffered bytes to the parser and reads until the request is complete. Bytes that the
// parser cannot use yet, such as an unfinished chunk extension or trailer, stay in the buffer,
// which has a limited size.
void Session::ReadRest() {
  beast::error_code error;
  while (!parser_->is_done() && buffer_.size() > 0) {
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == beast::http::error::need_more) break;
    if (error) return OnRequest(error);
  }
  if (parser_->is_done()) return OnRequest({});
  const size_t room = buffer_.max_size() - buffer_.size();
  if (room == 0) return OnRequest(beast::http::error::buffer_overflow);
  stream_->ReadSome(buffer_.prepare(std::min(kReadBytes, room)),
                    [self = shared_from_this()](beast::error_code read, size_t bytes) {
                      if (read == asio::error::eof) read = beast::http::error::partial_message;
                      if (read) return self->OnRequest(read);
                      self->buffer_.commit(bytes);
                      self->ReadRest();
                    });
}

void Session::OnRequest(beast::error_code error) {
  namespace http = beast::http;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refuse(431, Refusal::kTooLarge, "the header is too large\n");
  }
  if (error == http::error::body_limit)
    return Refuse(413, Refusal::kTooLarge, "the body is too large\n");
  if (error == beast::error::timeout) {
    owner_->CountBadRequest(Refusal::kSlowBody);
    return;  // the stream is already closed
  }
  if (error && error.category() == make_error_code(http::error::bad_method).category()) {
    return Refuse(400, Refusal::kMalformed, "malformed request\n");
  }
  if (error) return;  // the peer has disconnected
  owner_->CountRequest();

  auto message = parser_->release();
  keep_alive_ = message.keep_alive() && !reserved_;
  head_only_ = message.method() == http::verb::head;
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
  request.body = std::move(message.body());
  // The request is complete, so no socket deadline applies while the handler runs.
  stream_->tcp().expires_never();
  cancel_ = std::make_shared<CancelToken>();
  watched_ns_ = 0;
  WatchClient(cancel_);
  owner_->Handle({std::move(request), std::move(target), reserved_, cancel_},
                 [self = shared_from_this()](HttpResponse response) {
                   self->cancel_.reset();
                   self->watch_.cancel();
                   self->Reply(std::move(response));
                 });
}

// Periodically checks that the client is still connected. The check does not consume data, so
// further bytes stay available for the next request.
void Session::WatchClient(std::shared_ptr<CancelToken> token) {
  const int64_t pause = owner_->options().timeouts.watch_interval_ns;
  watch_.expires_after(std::chrono::nanoseconds(pause));
  watch_.async_wait([self = shared_from_this(), token = std::move(token),
                     pause](beast::error_code error) mutable {
    if (error || self->cancel_ != token) return;
    self->watched_ns_ += pause;
    if (self->ClientIsGone()) {
      token->Cancel(CancelToken::Reason::kPeerGone);
    } else if (self->watched_ns_ >= self->owner_->options().timeouts.handler_timeout_ns) {
      token->Cancel(CancelToken::Reason::kTimeout);
    }
    if (!token->canceled()) self->WatchClient(std::move(token));
  });
}

bool Session::ClientIsGone() {
  pollfd socket{stream_->tcp().socket().native_handle(), POLLRDHUP, 0};
  return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Session::Refuse(int status, Refusal reason, std::string_view text) {
  owner_->CountBadRequest(reason);
  keep_alive_ = false;
  head_only_ = false;
  Reply(HttpResponse::Text(status, text));
}

Session::Head Session::HeadOf(const HttpResponse& response) const {
  namespace http = beast::http;
  Head head;
  head.version(version_);
  head.result(static_cast<unsigned>(response.status));
  head.set(http::field::server, "pitwall");
  head.set(http::field::content_type, response.content_type);
  head.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) head.set(name, value);
  head.keep_alive(keep_alive_);
  return head;
}

void Session::Write(Written written) {
  Deadline(owner_->options().timeouts.write_timeout_ns);
  stream_->Write(head_text_, body_text_,
                 [self = shared_from_this(), written](beast::error_code error, size_t) {
                   (*self.*written)(error);
                 });
}

void Session::Reply(HttpResponse response) {
  if (owner_->stopping()) keep_alive_ = false;
  if (response.stream != nullptr && !head_only_) {
    if (owner_->OpenStream(peer_)) return BeginStream(std::move(response));
    response = HttpResponse::Text(503, "too many streams are open\n");
    response.headers.emplace_back("Retry-After", "5");
  }
  Head head = HeadOf(response);
  head.content_length(response.body.size());
  std::ostringstream text;
  text << head.base();
  head_text_ = std::move(text).str();
  body_text_ = head_only_ ? std::string() : std::move(response.body);
  Write(&Session::OnReplied);
}

void Session::OnReplied(beast::error_code error) {
  if (error) return;
  body_text_ = std::string();  // releases the memory of a large response
  if (!keep_alive_) return Finish();
  AwaitRequest();
}

// Writes the header, then the stream's data in chunks. Discards data from the client and detects a
// disconnect.
void Session::BeginStream(HttpResponse response) {
  body_ = std::move(response.stream);
  keep_alive_ = false;
  Head head = HeadOf(response);
  head.chunked(version_ >= 11);
  std::ostringstream text;
  text << head.base();
  head_text_ = std::move(text).str();
  body_text_.clear();
  Write(&Session::OnStreamBegun);
}

void Session::OnStreamBegun(beast::error_code error) {
  if (error) return Close();
  WatchPeer();
  PullNext();
}

void Session::WatchPeer() {
  // The deadline is disabled for the concurrent read. Each write sets its own deadline.
  stream_->tcp().expires_never();
  stream_->ReadSome(asio::buffer(drained_),
                    [self = shared_from_this()](beast::error_code error, size_t) {
                      self->drain_left_ -= self->drain_left_ > 0 ? 1 : 0;
                      if (error || self->drain_left_ == 0) return self->Close();
                      if (!self->closed_ && !self->stream_over_) self->WatchPeer();
                    });
}

void Session::PullNext() {
  if (closed_ || stream_over_) return;
  const bool stop = owner_->stopping();
  std::string chunk = stop ? body_->Farewell() : body_->Pull();
  stream_over_ = stop || body_->over();
  if (chunk.empty()) return stream_over_ ? EndStream() : Pause();
  const bool chunked = version_ >= 11;
  head_text_ = chunked ? Cat(absl::Hex(chunk.size()), "\r\n") : "";
  body_text_ = std::move(chunk);
  if (chunked) body_text_ += "\r\n";
  Write(&Session::OnChunkWritten);
}

void Session::OnChunkWritten(beast::error_code error) {
  if (error) return Close();
  if (stream_over_) return EndStream();
  PullNext();
}

void Session::Pause() {
  pause_.expires_after(std::chrono::nanoseconds(owner_->options().timeouts.stream_pause_ns));
  pause_.async_wait([self = shared_from_this()](beast::error_code) { self->PullNext(); });
}

void Session::EndStream() {
  if (version_ < 11) return Close();
  head_text_ = "0\r\n\r\n";
  body_text_.clear();
  Write(&Session::OnStreamEnded);
}

void Session::OnStreamEnded(beast::error_code) { Close(); }

// Closes the connection so that the client can read the response. For a short time, pending input
// is read and discarded, because closing a socket with unread input would reset the connection, and
// the client would lose the response.
void Session::Finish() {
  Deadline(owner_->options().timeouts.linger_ns);
  if (stream_->encrypted()) {
    stream_->Shutdown([self = shared_from_this()](beast::error_code, size_t) { self->Close(); });
    return;
  }
  beast::error_code ignored;
  stream_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  Drain();
}

void Session::Drain() {
  drain_left_ -= drain_left_ > 0 ? 1 : 0;
  if (drain_left_ == 0) return Close();
  stream_->ReadSome(asio::buffer(drained_),
                    [self = shared_from_this()](beast::error_code error, size_t) {
                      if (error) return self->Close();
                      self->Drain();
                    });
}

}  // namespace pitwall::http
