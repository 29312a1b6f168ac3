#include "services/adapters/http/connection/response_writer.h"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <sstream>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::http {

void ResponseWriter::Begin(const RequestMessage& request, bool may_keep_alive) {
  keep_alive_ = request.keep_alive() && may_keep_alive;
  head_only_ = request.method() == beast::http::verb::head;
  version_ = request.version();
}

void ResponseWriter::BeginRefusal() {
  keep_alive_ = false;
  head_only_ = false;
}

ResponseWriter::Head ResponseWriter::HeadOf(const HttpResponse& response) const {
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

void ResponseWriter::WriteTexts(Done done) {
  stream_->tcp().expires_after(std::chrono::nanoseconds(timeouts_.write_timeout_ns));
  stream_->Write(head_text_, body_text_, std::move(done));
}

void ResponseWriter::Write(HttpResponse response, Done done) {
  Head head = HeadOf(response);
  head.content_length(response.body.size());
  std::ostringstream text;
  text << head.base();
  head_text_ = std::move(text).str();
  body_text_ = head_only_ ? std::string() : std::move(response.body);
  WriteTexts(std::move(done));
}

void ResponseWriter::WriteStreamHead(const HttpResponse& response, Done done) {
  Head head = HeadOf(response);
  head.chunked(chunked());
  std::ostringstream text;
  text << head.base();
  head_text_ = std::move(text).str();
  body_text_.clear();
  WriteTexts(std::move(done));
}

void ResponseWriter::WriteChunk(std::string chunk, Done done) {
  head_text_ = chunked() ? Cat(absl::Hex(chunk.size()), "\r\n") : "";
  body_text_ = std::move(chunk);
  if (chunked()) body_text_ += "\r\n";
  WriteTexts(std::move(done));
}

void ResponseWriter::WriteLastChunk(Done done) {
  head_text_ = "0\r\n\r\n";
  body_text_.clear();
  WriteTexts(std::move(done));
}

}  // namespace pitwall::http
