// Connection of the HTTP server. Private to this folder.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/adapters/http/http_server.h"
#include "services/base/cancellation.h"

namespace pitwall::http {

// Request with its connection type and cancellation token.
struct Arrival {
  HttpRequest request;
  std::string target;
  bool reserved = false;  // arrived on a reserved connection
  std::shared_ptr<CancelToken> cancel;
};

// Interface from a session to its server. All calls happen on the I/O thread.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  virtual const HttpServerOptions& options() const = 0;
  // Runs the request and calls `done` exactly once on the I/O thread.
  virtual void Handle(Arrival arrival, std::function<void(HttpResponse)> done) = 0;
  virtual void CountRequest() = 0;
  virtual void CountBadRequest(Refusal reason) = 0;
  virtual bool stopping() const = 0;
  // Registers a stream. Returns false if there are too many streams; otherwise, the session must
  // call CloseStream once.
  virtual bool OpenStream(const std::string& peer) = 0;
  virtual void CloseStream(const std::string& peer) = 0;
};

// Exists as long as one of its operations is pending; the server holds only weak pointers. Used
// only on the I/O thread.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionOwner* owner, std::unique_ptr<ByteStream> stream, std::string peer, bool reserved);
  ~Session();

  void Run();
  void BeginStop();  // closes as soon as no request is active
  void Close();      // closes immediately

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;
  using Head = beast::http::response<beast::http::empty_body>;
  using Written = void (Session::*)(beast::error_code);

  void Deadline(int64_t ns);
  int64_t ArrivalTimeout(int64_t ns) const;
  void AwaitRequest();
  void ReadHeader();
  void OnHeaderBytes(beast::error_code error, size_t bytes);
  void ReadRest();
  void OnRequest(beast::error_code error);
  void WatchClient(std::shared_ptr<CancelToken> token);
  bool ClientIsGone();
  void Refuse(int status, Refusal reason, std::string_view text);
  void Reply(HttpResponse response);
  void OnReplied(beast::error_code error);
  Head HeadOf(const HttpResponse& response) const;
  void BeginStream(HttpResponse response);
  void OnStreamBegun(beast::error_code error);
  void WatchPeer();
  void PullNext();
  void OnChunkWritten(beast::error_code error);
  void Pause();
  void EndStream();
  void OnStreamEnded(beast::error_code error);
  void Finish();
  void Drain();
  // Writes `head_text_` and `body_text_` within the write timeout.
  void Write(Written written);

  SessionOwner* const owner_;
  const bool reserved_;
  const std::unique_ptr<ByteStream> stream_;
  beast::flat_buffer buffer_;
  const std::string peer_;
  std::optional<Parser> parser_;
  std::string head_text_, body_text_;    // bytes of the pending write
  std::shared_ptr<CancelToken> cancel_;  // not null while a request is being handled
  asio::steady_timer watch_;             // waits between two client checks
  int64_t watched_ns_ = 0;               // time since the request was complete
  asio::steady_timer pause_;             // waits between two pulls
  std::shared_ptr<ResponseStream>
      body_;  // if not null, the connection serves a stream until the end
  std::array<char, 4096> drained_{};
  int drain_left_ = 256;
  unsigned version_ = 11;
  bool first_ = true;
  bool idle_ = true;        // no byte of a request has arrived yet
  bool kept_idle_ = false;  // idle after a response
  bool keep_alive_ = false;
  bool head_only_ = false;  // the method of the request is HEAD
  bool stream_over_ = false;
  bool closed_ = false;
};

}  // namespace pitwall::http
