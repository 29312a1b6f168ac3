#include "services/adapters/http/connection/session.h"

#include <chrono>
#include <utility>
#include <variant>

namespace pitwall::http {

Session::Session(SessionOwner* owner, std::unique_ptr<ByteStream> stream, std::string peer,
                 bool reserved)
    : owner_(owner),
      reserved_(reserved),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      reader_(stream_.get(), owner->limits(), owner->timeouts(), reserved,
              [this](RequestReader::Result result) { OnRead(std::move(result)); }),
      writer_(stream_.get(), owner->timeouts()),
      watch_(stream_.get(), owner->timeouts()),
      pause_(stream_->tcp().get_executor()) {}

Session::~Session() {
  if (body_ != nullptr) owner_->CloseStream(peer_);
}

void Session::Run() {
  if (!stream_->encrypted()) return AwaitRequest();
  stream_->tcp().expires_after(std::chrono::nanoseconds(reader_.header_timeout_ns()));
  stream_->Handshake([self = shared_from_this()](beast::error_code error, size_t) {
    if (error == beast::error::timeout) self->owner_->CountBadRequest(Refusal::kSlowHeader);
    if (!error) self->AwaitRequest();
  });
}

void Session::BeginStop() {
  if (reader_.idle()) Close();
  if (body_ != nullptr) pause_.cancel();
}

void Session::Close() {
  closed_ = true;
  pause_.cancel();
  watch_.Abort();
  beast::error_code ignored;
  stream_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_->tcp().close();
}

void Session::AwaitRequest() {
  if (owner_->stopping()) return Finish();
  reader_.Read(shared_from_this());
}

void Session::OnRead(RequestReader::Result result) {
  if (auto* const message = std::get_if<RequestMessage>(&result)) {
    OnRequest(std::move(*message));
  } else if (const auto* const bad = std::get_if<BadRequest>(&result)) {
    Refuse(*bad);
  } else {
    Finish();
  }
}

void Session::OnRequest(RequestMessage message) {
  owner_->CountRequest();
  writer_.Begin(message, /*may_keep_alive=*/!reserved_);
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
  std::shared_ptr<CancelToken> cancel = watch_.Begin(shared_from_this());
  owner_->Handle({std::move(request), std::move(target), reserved_, std::move(cancel)},
                 [self = shared_from_this()](HttpResponse response) {
                   self->watch_.End();
                   self->Reply(std::move(response));
                 });
}

void Session::Refuse(const BadRequest& bad) {
  owner_->CountBadRequest(bad.reason);
  if (bad.status == 0) return;
  writer_.BeginRefusal();
  Reply(HttpResponse::Text(bad.status, bad.text));
}

void Session::Reply(HttpResponse response) {
  if (owner_->stopping()) writer_.CloseAfterResponse();
  if (response.stream != nullptr && !writer_.head_only()) {
    if (owner_->OpenStream(peer_)) return BeginStream(std::move(response));
    response = HttpResponse::Text(503, "too many streams are open\n");
    response.headers.emplace_back("Retry-After", "5");
  }
  writer_.Write(std::move(response), [self = shared_from_this()](beast::error_code error, size_t) {
    self->OnReplied(error);
  });
}

void Session::OnReplied(beast::error_code error) {
  if (error) return;
  writer_.ReleaseBody();
  if (!writer_.keep_alive()) return Finish();
  AwaitRequest();
}

void Session::BeginStream(HttpResponse response) {
  body_ = std::move(response.stream);
  writer_.CloseAfterResponse();
  writer_.WriteStreamHead(response, [self = shared_from_this()](beast::error_code error, size_t) {
    if (error) return self->Close();
    self->WatchPeer();
    self->PullNext();
  });
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
  writer_.WriteChunk(std::move(chunk),
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       self->OnChunkWritten(error);
                     });
}

void Session::OnChunkWritten(beast::error_code error) {
  if (error) return Close();
  if (stream_over_) return EndStream();
  PullNext();
}

void Session::Pause() {
  pause_.expires_after(std::chrono::nanoseconds(owner_->timeouts().stream_pause_ns));
  pause_.async_wait([self = shared_from_this()](beast::error_code) { self->PullNext(); });
}

void Session::EndStream() {
  if (!writer_.chunked()) return Close();
  writer_.WriteLastChunk([self = shared_from_this()](beast::error_code, size_t) { self->Close(); });
}

// Closes the connection in a way that lets the client read the response. For a short time, pending
// input is read and discarded. Closing a socket with unread input would reset the connection, and
// the client would lose the response.
void Session::Finish() {
  stream_->tcp().expires_after(std::chrono::nanoseconds(owner_->timeouts().linger_ns));
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
