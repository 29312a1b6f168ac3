// Tests for health checks and actions while queries use all resources, and for requests after the
// client disconnects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "services/adapters/http/http_server.h"
#include "services/adapters/http/testing/raw_socket.h"
#include "services/base/cancellation.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

// Server with a query that runs until it is canceled.
class HttpLanes : public ::testing::Test {
 protected:
  void Serve(HttpServerOptions options = {}) {
    options.timeouts.watch_interval_ns = 5 * kMs;
    const HttpHandler endless = [this](const HttpRequest&) {
      ++started_;
      Status canceled;
      while (canceled.ok() && !over_) {
        std::this_thread::yield();
        canceled = CheckCanceled();
      }
      ++ended_;
      return HttpResponse::Text(canceled.ok() ? 200 : 503,
                                Cat("query: ", canceled.message(), "\n"));
    };
    const auto plain = [](const HttpRequest&) { return HttpResponse::Text(200, "plain"); };
    const HttpHandler slow_act = [this](const HttpRequest&) {
      ++started_;
      while (!over_) std::this_thread::yield();
      return HttpResponse::Text(200, Cat("acted: ", CheckCanceled().message(), "\n"));
    };
    auto server = HttpServer::Start(
        std::move(options),
        {{.method = "GET", .path = "/query", .handler = endless},
         {.method = "GET", .path = "/page", .handler = plain},
         {.method = "POST", .path = "/act", .handler = plain, .lane = Lane::kActions},
         {.method = "POST", .path = "/slow", .handler = slow_act, .lane = Lane::kActions},
         {.method = "GET",
          .path = "/readyz",
          .handler = plain,
          .open = true,
          .lane = Lane::kHealth}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void TearDown() override { over_ = true; }

  RawSocket Send(std::string_view method, std::string_view path) const {
    RawSocket socket = RawSocket::Connect(server_->port());
    EXPECT_TRUE(socket.Send(Cat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n",
                                method == "POST" ? "Content-Length: 0\r\n" : "",
                                "Connection: close\r\n\r\n")));
    return socket;
  }
  std::string Ask(std::string_view method, std::string_view path) const {
    return Send(method, path).ReadAll();
  }
  std::vector<RawSocket> Queries(size_t count) const {
    std::vector<RawSocket> out;
    for (size_t i = 0; i < count; ++i) out.push_back(Send("GET", "/query"));
    while (server_->counters().requests.value() < count) std::this_thread::yield();
    return out;
  }

  std::atomic<bool> over_ = false;
  std::atomic<int> started_ = 0, ended_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpLanes, QueriesUseAllThreads_HealthAndActionsRespond) {
  Serve();
  const std::vector<RawSocket> queries = Queries(8);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask("GET", "/readyz"), HasSubstr("200 OK"));
    EXPECT_THAT(Ask("POST", "/act"), HasSubstr("200 OK"));
  }
  EXPECT_EQ(ended_, 0);
}

TEST_F(HttpLanes, QueriesFillQueue_HealthAndActionsRespond) {
  Serve({.limits = {.max_waiting_requests = 4}});
  const std::vector<RawSocket> queries = Queries(8);
  EXPECT_THAT(Ask("GET", "/page"), HasSubstr("503 "));
  EXPECT_THAT(Ask("GET", "/readyz"), HasSubstr("200 OK"));
  EXPECT_THAT(Ask("POST", "/act"), HasSubstr("200 OK"));
}

TEST_F(HttpLanes, QueriesUseAllConnections_ReservedConnectionsRespond) {
  for (const bool per_address : {true, false}) {
    HttpServerOptions options;
    (per_address ? options.limits.max_connections_per_address : options.limits.max_connections) = 8;
    Serve(options);
    const std::vector<RawSocket> queries = Queries(8);
    EXPECT_THAT(Ask("GET", "/readyz"), HasSubstr("200 OK"));
    EXPECT_THAT(Ask("POST", "/act"), HasSubstr("200 OK"));
    EXPECT_THAT(Ask("GET", "/page"), HasSubstr("too many connections"));
    server_.reset();
  }
}

TEST_F(HttpLanes, IdleReservedConnection_IsClosedEarly) {
  Serve({.limits = {.max_connections = 1, .reserved_connections = 1},
         .timeouts = {.reserved_timeout_ns = 50 * kMs}});
  const RawSocket first = RawSocket::Connect(server_->port());
  const RawSocket idle = RawSocket::Connect(server_->port());
  EXPECT_TRUE(idle.AtEnd());
  EXPECT_THAT(Ask("GET", "/readyz"), HasSubstr("200 OK"));
}

TEST_F(HttpLanes, ClientsAbortManyRequests_ThreadsAndConnectionsAreFreed) {
  Serve({.limits = {.max_waiting_requests = 100}});
  {
    const std::vector<RawSocket> aborted = Queries(64);
    EXPECT_THAT(Ask("GET", "/readyz"), HasSubstr("200 OK"));
  }
  std::string page;
  while (page.find("200 OK") == std::string::npos) page = Ask("GET", "/page");
  while (ended_ < started_) std::this_thread::yield();
  EXPECT_LT(started_, 64);  // waiting requests were not started
}

TEST_F(HttpLanes, ClientHalfClosesConnection_GetsResponse) {
  Serve();
  const RawSocket socket = Send("GET", "/query");
  ASSERT_EQ(shutdown(socket.fd(), SHUT_WR), 0);
  EXPECT_THAT(socket.ReadAll(), HasSubstr("the client closed the connection"));
}

TEST_F(HttpLanes, LongAction_IsNotCanceled) {
  Serve({.timeouts = {.handler_timeout_ns = 10 * kMs}});
  const RawSocket socket = Send("POST", "/slow");
  ASSERT_EQ(shutdown(socket.fd(), SHUT_WR), 0);
  while (started_ == 0) std::this_thread::yield();
  socket.WaitReadable(50);  // several client check intervals
  over_ = true;
  EXPECT_THAT(socket.ReadAll(), HasSubstr("acted: \n"));
}

TEST_F(HttpLanes, LongRequest_IsCanceled) {
  Serve({.timeouts = {.handler_timeout_ns = 50 * kMs}});
  EXPECT_THAT(Ask("GET", "/query"), HasSubstr("not complete within the time limit"));
}

TEST_F(HttpLanes, StoppedServer_CancelsItsRequests) {
  Serve();
  const std::vector<RawSocket> queries = Queries(4);
  server_->Stop(0);
  EXPECT_EQ(ended_, started_);
}

}  // namespace
}  // namespace pitwall::http
