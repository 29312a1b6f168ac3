#include "services/adapters/http/connection/request_reader.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "services/adapters/http/connection/header_check.h"

namespace pitwall::http {
namespace {

constexpr size_t kReadBytes = 64 << 10;

void SetDeadline(ByteStream* stream, int64_t ns) {
  stream->tcp().expires_after(std::chrono::nanoseconds(ns));
}

}  // namespace

RequestReader::RequestReader(ByteStream* stream, const HttpLimits& limits,
                             const HttpTimeouts& timeouts, bool reserved, Done done)
    : stream_(stream),
      limits_(limits),
      timeouts_(timeouts),
      reserved_(reserved),
      done_(std::move(done)),
      buffer_(limits.max_header_bytes + kReadBytes) {}

int64_t RequestReader::ArrivalTimeout(int64_t ns) const {
  return reserved_ ? std::min(ns, timeouts_.reserved_timeout_ns) : ns;
}

void RequestReader::Read(const std::shared_ptr<void>& owner) {
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<uint32_t>(limits_.max_header_bytes));
  parser_->body_limit(limits_.max_body_bytes);
  idle_ = buffer_.size() == 0;
  // A new connection must send its header promptly. Only a kept-alive connection may be idle.
  SetDeadline(stream_, first_ || !idle_ ? header_timeout_ns() : timeouts_.idle_timeout_ns);
  kept_idle_ = !first_ && idle_;
  first_ = false;
  ReadHeader(owner);
}

// Reads the whole header within one deadline from its first byte, so a client cannot keep a request
// open by sending one byte at a time. The header is checked before Beast parses it.
void RequestReader::ReadHeader(const std::shared_ptr<void>& owner) {
  std::string_view text(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  if (text.substr(0, 2) == "\r\n") {  // an empty line before the request line is allowed
    buffer_.consume(2);
    text.remove_prefix(2);
  }
  // The client probably uses TLS on a plain-text port and would wait for a response before it sends
  // more data.
  if (!text.empty() && text[0] != '\r' && (text[0] < 'A' || text[0] > 'Z'))
    return done_(
        BadRequest{400, Refusal::kMalformed, "malformed request: it must start with a method\n"});
  const size_t end = text.find("\r\n\r\n");
  if (end != std::string_view::npos && end <= limits_.max_header_bytes) {
    const std::string_view fault = HeaderFault(text.substr(0, end + 4));
    if (!fault.empty())
      return done_(
          BadRequest{400, Refusal::kMalformed, "malformed request: " + std::string(fault) + "\n"});
    idle_ = kept_idle_ = false;
    SetDeadline(stream_, ArrivalTimeout(timeouts_.body_timeout_ns));
    return ReadRest(owner);
  }
  if (text.size() > limits_.max_header_bytes)
    return done_(BadRequest{431, Refusal::kTooLarge, "the header is too large\n"});
  // A header whose lines end without CR would never be recognized as complete.
  const size_t line = text.find('\n');
  if (line != std::string_view::npos && (line == 0 || text[line - 1] != '\r'))
    return done_(
        BadRequest{400, Refusal::kMalformed, "malformed request: a line does not end with CRLF\n"});
  stream_->ReadSome(buffer_.prepare(4096), [this, owner](beast::error_code error, size_t bytes) {
    OnHeaderBytes(error, bytes, owner);
  });
}

void RequestReader::OnHeaderBytes(beast::error_code error, size_t bytes,
                                  const std::shared_ptr<void>& owner) {
  if (error == beast::error::timeout) {  // the stream is already closed
    // Closing an idle connection is not counted as a bad request.
    if (!kept_idle_) done_(BadRequest{0, Refusal::kSlowHeader, ""});
    return;
  }
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    if (buffer_.size() == 0) return done_(EndOfRequests());
    return done_(
        BadRequest{400, Refusal::kMalformed, "malformed request: the header has no end\n"});
  }
  if (error) return;  // the peer has disconnected
  if (kept_idle_) SetDeadline(stream_, timeouts_.header_timeout_ns);
  kept_idle_ = idle_ = false;
  buffer_.commit(bytes);
  ReadHeader(owner);
}

// Passes buffered bytes to the parser and reads until the request is complete. Bytes that the
// parser cannot use yet, such as an unfinished chunk extension or trailer, stay in the size-limited
// buffer.
void RequestReader::ReadRest(const std::shared_ptr<void>& owner) {
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
                    [this, owner](beast::error_code read, size_t bytes) {
                      if (read == asio::error::eof) read = beast::http::error::partial_message;
                      if (read) return OnRequest(read);
                      buffer_.commit(bytes);
                      ReadRest(owner);
                    });
}

void RequestReader::OnRequest(beast::error_code error) {
  namespace http = beast::http;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return done_(BadRequest{431, Refusal::kTooLarge, "the header is too large\n"});
  }
  if (error == http::error::body_limit)
    return done_(BadRequest{413, Refusal::kTooLarge, "the body is too large\n"});
  if (error == beast::error::timeout) {  // the stream is already closed
    return done_(BadRequest{0, Refusal::kSlowBody, ""});
  }
  if (error && error.category() == make_error_code(http::error::bad_method).category()) {
    return done_(BadRequest{400, Refusal::kMalformed, "malformed request\n"});
  }
  if (error) return;  // the peer has disconnected
  // The request is complete, so no socket deadline applies while the handler runs.
  stream_->tcp().expires_never();
  done_(parser_->release());
}

}  // namespace pitwall::http
