// Tests for response streams over raw sockets: order, limits, slow clients, disconnected clients,
// and server shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "services/adapters/http/http_server.h"
#include "services/adapters/http/testing/raw_socket.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

using ::testing::HasSubstr;

// Test data for the streams, and the number of live streams.
struct Source {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> pieces;
  bool over = false;
  bool endless = false;  // every pull returns 64 KiB
  int live = 0;
  uint64_t pulls = 0;

  void Push(std::string piece) {
    const std::lock_guard<std::mutex> lock(mutex);
    pieces.push_back(std::move(piece));
  }
  void End() {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  // Waits until this many streams are live. The test timeout limits the wait.
  void AwaitLive(int count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return live == count; });
  }
  uint64_t Pulls() {
    const std::lock_guard<std::mutex> lock(mutex);
    return pulls;
  }
};

class SourceStream final : public ResponseStream {
 public:
  explicit SourceStream(Source* source) : source_(source) { Count(1); }
  ~SourceStream() override { Count(-1); }
  std::string Pull() override {
    const std::lock_guard<std::mutex> lock(source_->mutex);
    ++source_->pulls;
    if (source_->endless) return std::string(64 << 10, 'x');
    if (source_->pieces.empty()) return {};
    std::string out = std::move(source_->pieces.front());
    source_->pieces.pop_front();
    return out;
  }
  bool over() const override {
    const std::lock_guard<std::mutex> lock(source_->mutex);
    return source_->over && source_->pieces.empty();
  }
  std::string Farewell() override { return "bye"; }

 private:
  void Count(int by) {
    const std::lock_guard<std::mutex> lock(source_->mutex);
    source_->live += by;
    source_->changed.notify_all();
  }
  Source* const source_;
};

class HttpStream : public ::testing::Test {
 protected:
  void Serve(HttpServerOptions options = {}) {
    options.timeouts.stream_pause_ns = 2'000'000;
    options.handler_threads = 1;
    server_ = *HttpServer::Start(
        std::move(options),
        {{"GET", "/stream",
          [this](const HttpRequest&) {
            HttpResponse response;
            response.content_type = "text/event-stream";
            response.stream = std::make_shared<SourceStream>(&source_);
            return response;
          }},
         {"GET", "/plain", [](const HttpRequest&) { return HttpResponse::Text(200, "plain"); }}});
  }
  RawSocket Get(std::string_view path = "/stream", std::string_view version = "1.1") const {
    RawSocket socket = RawSocket::Connect(server_->port());
    EXPECT_TRUE(socket.Send(Cat("GET ", path, " HTTP/", version, "\r\nHost: localhost\r\n\r\n")));
    return socket;
  }

  Source source_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpStream, SendsEachPieceImmediatelyAsChunk) {
  Serve();
  const RawSocket socket = Get();
  const std::string header = socket.ReadUntil("\r\n\r\n");
  EXPECT_THAT(header, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(header, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(header, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(header, ::testing::Not(HasSubstr("Content-Length")));
  source_.Push("one");
  EXPECT_EQ(socket.ReadUntil("one\r\n"), "3\r\none\r\n");
  source_.Push("second piece");
  EXPECT_EQ(socket.ReadUntil("piece\r\n"), "c\r\nsecond piece\r\n");
  source_.End();
  EXPECT_EQ(socket.ReadAll(), "0\r\n\r\n");
  source_.AwaitLive(0);
  EXPECT_EQ(server_->counters().streams.value(), 1U);
}

TEST_F(HttpStream, Http10Client_GetsUnchunkedBody) {
  Serve();
  const RawSocket socket = Get("/stream", "1.0");
  const std::string header = socket.ReadUntil("\r\n\r\n");
  EXPECT_THAT(header, ::testing::Not(HasSubstr("chunked")));
  source_.Push("one");
  source_.Push("two");
  source_.End();
  EXPECT_EQ(socket.ReadAll(), "onetwo");
}

TEST_F(HttpStream, StreamDoesNotOccupyHandlerThread) {
  Serve();
  std::vector<RawSocket> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(Get());
  for (const RawSocket& stream : streams)
    EXPECT_THAT(stream.ReadUntil("\r\n\r\n"), HasSubstr("200"));
  const RawSocket plain = Get("/plain");  // the only handler thread is idle
  EXPECT_THAT(plain.ReadUntil("plain"), HasSubstr("HTTP/1.1 200"));
}

TEST_F(HttpStream, StreamsAreLimitedInTotalAndPerAddress) {
  for (const bool per_address : {false, true}) {
    HttpServerOptions options;
    (per_address ? options.limits.max_streams_per_address : options.limits.max_streams) = 2;
    Serve(options);
    const RawSocket first = Get();
    first.ReadUntil("\r\n\r\n");
    {
      const RawSocket second = Get();
      second.ReadUntil("\r\n\r\n");
      const RawSocket third = Get();
      EXPECT_THAT(third.ReadUntil("open\n"), HasSubstr("503"));
      EXPECT_EQ(server_->counters().refused[static_cast<size_t>(Refusal::kStreams)].value(), 1U);
    }
    // A disconnected client makes room for another one even if it was never sent any data.
    source_.AwaitLive(1);
    const RawSocket fourth = Get();
    EXPECT_THAT(fourth.ReadUntil("\r\n\r\n"), HasSubstr("200"));
    server_.reset();
  }
}

TEST_F(HttpStream, ClientThatDoesNotReadIsDisconnected) {
  HttpServerOptions options;
  options.timeouts.write_timeout_ns = 300'000'000;
  Serve(options);
  source_.endless = true;
  const RawSocket socket = Get();
  // The kernel buffers hold the data from a few pulls. After that, the stream is no longer pulled
  // and is closed.
  source_.AwaitLive(1);
  source_.AwaitLive(0);
  EXPECT_LT(source_.Pulls(), 2000U);  // 125 MiB, far more than any socket buffer
}

TEST_F(HttpStream, SendsLastBytesWhenServerStops) {
  Serve();
  const RawSocket socket = Get();
  socket.ReadUntil("\r\n\r\n");
  server_->Stop();
  EXPECT_EQ(socket.ReadAll(), "3\r\nbye\r\n0\r\n\r\n");
  source_.AwaitLive(0);
}

TEST_F(HttpStream, HeadRequestGetsOnlyHeader) {
  Serve();
  const RawSocket socket = RawSocket::Connect(server_->port());
  ASSERT_TRUE(socket.Send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(socket.ReadAll(), HasSubstr("Content-Type: text/event-stream"));
  EXPECT_EQ(server_->counters().streams.value(), 0U);
}

TEST_F(HttpStream, ClientDataDuringStreamIsDiscarded) {
  Serve();
  const RawSocket socket = Get();
  socket.ReadUntil("\r\n\r\n");
  ASSERT_TRUE(socket.Send("GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  source_.Push("one");
  EXPECT_EQ(socket.ReadUntil("one\r\n"), "3\r\none\r\n");
}

}  // namespace
}  // namespace pitwall::http
