// Reader for the requests on a connection.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/adapters/http/connection/http_limits.h"

namespace pitwall::http {

using RequestMessage = beast::http::request<beast::http::string_body>;

// Request that was rejected before it was complete.
struct BadRequest {
  int status = 0;  // status of the response, or 0 if the stream is closed and cannot respond
  Refusal reason = Refusal::kMalformed;
  std::string text;
};

// Result if the client closes the connection between two requests.
struct EndOfRequests {};

// Request reader that enforces the limits and deadlines for the header and body. The connection is
// idle until the first byte of a request arrives. Used only on the I/O thread.
class RequestReader {
 public:
  using Result = std::variant<RequestMessage, BadRequest, EndOfRequests>;
  using Done = std::function<void(Result)>;

  // Borrows `stream`, `limits`, and `timeouts`. Requests on a reserved connection have shorter
  // deadlines.
  RequestReader(ByteStream* stream, const HttpLimits& limits, const HttpTimeouts& timeouts,
                bool reserved, Done done);

  // Reads the next request and calls `done` once, possibly before Read returns. Never calls `done`
  // if the connection fails or stays idle too long. `owner` keeps this object alive during the
  // read.
  void Read(const std::shared_ptr<void>& owner);

  bool idle() const { return idle_; }  // no bytes of the current request have arrived yet
  // Returns the time limit for receiving a header or completing a TLS handshake.
  int64_t header_timeout_ns() const { return ArrivalTimeout(timeouts_.header_timeout_ns); }

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  int64_t ArrivalTimeout(int64_t ns) const;
  void ReadHeader(const std::shared_ptr<void>& owner);
  void OnHeaderBytes(beast::error_code error, size_t bytes, const std::shared_ptr<void>& owner);
  void ReadRest(const std::shared_ptr<void>& owner);
  void OnRequest(beast::error_code error);

  ByteStream* const stream_;
  const HttpLimits& limits_;
  const HttpTimeouts& timeouts_;
  const bool reserved_;
  const Done done_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  bool first_ = true;
  bool idle_ = true;
  bool kept_idle_ = false;  // idle after a response
};

}  // namespace pitwall::http
