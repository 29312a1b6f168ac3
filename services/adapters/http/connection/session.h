// HTTP server connection. Private to this folder.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "services/adapters/http/connection/byte_stream.h"
#include "services/adapters/http/connection/client_watch.h"
#include "services/adapters/http/connection/http_limits.h"
#include "services/adapters/http/connection/http_message.h"
#include "services/adapters/http/connection/request_reader.h"
#include "services/adapters/http/connection/response_writer.h"
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
  virtual const HttpLimits& limits() const = 0;
  virtual const HttpTimeouts& timeouts() const = 0;
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

// Connection that serves one request at a time, or a stream until it ends. Stays alive while any of
// its operations is pending. The server holds only weak pointers. Used only on the I/O thread.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionOwner* owner, std::unique_ptr<ByteStream> stream, std::string peer, bool reserved);
  ~Session();

  void Run();
  void BeginStop();  // closes as soon as no request is active
  void Close();      // closes immediately

 private:
  void AwaitRequest();
  void OnRead(RequestReader::Result result);
  void OnRequest(RequestMessage message);
  void Refuse(const BadRequest& bad);
  void Reply(HttpResponse response);
  void OnReplied(beast::error_code error);
  // Writes the header, then the stream's data in chunks. Discards data from the client and detects
  // a disconnect.
  void BeginStream(HttpResponse response);
  void WatchPeer();
  void PullNext();
  void OnChunkWritten(beast::error_code error);
  void Pause();
  void EndStream();
  void Finish();
  void Drain();

  SessionOwner* const owner_;
  const bool reserved_;
  const std::unique_ptr<ByteStream> stream_;
  const std::string peer_;
  RequestReader reader_;
  ResponseWriter writer_;
  ClientWatch watch_;
  asio::steady_timer pause_;  // waits between two pulls
  // If not null, the connection serves this stream until it ends.
  std::shared_ptr<ResponseStream> body_;
  bool stream_over_ = false;
  std::array<char, 4096> drained_{};
  int drain_left_ = 256;
  bool closed_ = false;
};

}  // namespace pitwall::http
