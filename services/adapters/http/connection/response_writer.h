// Writer for the responses on a connection.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <string>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/adapters/http/connection/http_limits.h"
#include "services/adapters/http/connection/http_message.h"
#include "services/adapters/http/connection/request_reader.h"

namespace pitwall::http {

// Response writer that uses the format required by each request. Each write has a deadline. Only
// one write may be pending. Used only on the I/O thread.
class ResponseWriter {
 public:
  using Done = ByteStream::Done;

  // Borrows all arguments.
  ResponseWriter(ByteStream* stream, const HttpTimeouts& timeouts)
      : stream_(stream), timeouts_(timeouts) {}

  // Prepares the response to `request`. The connection stays open after the response if the request
  // and `may_keep_alive` allow it.
  void Begin(const RequestMessage& request, bool may_keep_alive);
  // Prepares a response to a request that could not be read.
  void BeginRefusal();
  // Announces in the next response that the connection will close.
  void CloseAfterResponse() { keep_alive_ = false; }

  // Writes the header and body, or only the header for a HEAD request.
  void Write(HttpResponse response, Done done);
  // Frees the memory of the last body.
  void ReleaseBody() { body_text_ = std::string(); }

  // Writes the header of a response whose body has an unknown length. The body consists of pieces,
  // followed by a final chunk if the connection uses chunked encoding.
  void WriteStreamHead(const HttpResponse& response, Done done);
  void WriteChunk(std::string chunk, Done done);
  void WriteLastChunk(Done done);

  bool keep_alive() const { return keep_alive_; }
  bool head_only() const { return head_only_; }
  // Returns true if the body uses chunked encoding. Otherwise, closing the connection ends the
  // body.
  bool chunked() const { return version_ >= 11; }

 private:
  using Head = beast::http::response<beast::http::empty_body>;

  Head HeadOf(const HttpResponse& response) const;
  // Writes `head_text_` and `body_text_` within the write timeout.
  void WriteTexts(Done done);

  ByteStream* const stream_;
  const HttpTimeouts& timeouts_;
  std::string head_text_, body_text_;  // bytes of the pending write
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;  // the method of the request is HEAD
};

}  // namespace pitwall::http
