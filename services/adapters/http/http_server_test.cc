#include "services/adapters/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "services/adapters/http/client/curl_transport.h"
#include "services/adapters/http/testing/raw_socket.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kMs = 1'000'000;

// Blocks handlers until the test releases them.
class Gatekeeper {
 public:
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void AwaitInside(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= count; });
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

std::vector<HttpRoute> Routes() {
  return {
      {"GET", "/hello",
       [](const HttpRequest& r) { return HttpResponse::Text(200, Cat("hi ", r.Query("name"))); },
       false},
      {"POST", "/echo", [](const HttpRequest& r) { return HttpResponse::Text(201, r.body); },
       false},
      {"GET", "/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("x"); },
       false},
      {"GET", "/healthz", [](const HttpRequest&) { return HttpResponse::Text(200, "ok"); }, true}};
}

std::unique_ptr<HttpServer> Serve(HttpServerOptions options = {},
                                  std::vector<HttpRoute> routes = Routes()) {
  StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(std::move(options), std::move(routes));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

std::string Ask(const HttpServer& server, std::string_view request) {
  const RawSocket socket = RawSocket::Connect(server.port());
  EXPECT_TRUE(socket.ok());
  EXPECT_TRUE(socket.Send(request));
  return socket.ReadAll();
}

TEST(HttpServer, RespondsToRequests) {
  const auto server = Serve();
  const std::string answer = Ask(
      *server, "GET /hello?name=a%20b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nhi a b"));
  EXPECT_THAT(server->address(), HasSubstr(Cat("127.0.0.1:", server->port())));
}

TEST(HttpServer, KeepsConnectionAliveAndServesPipelinedRequests) {
  const auto server = Serve();
  const std::string answer =
      Ask(*server,
          "GET /hello?name=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
          "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
          "HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
          "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
          "PUT /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, ::testing::ContainsRegex("hi 1HTTP/1.1 201 Created"));
  EXPECT_THAT(answer, HasSubstr("abcHTTP/1.1 200 OK"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n\r\nHTTP/1.1 404 Not Found"));
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 405 Method Not Allowed"));
  EXPECT_THAT(answer, HasSubstr("Allow: POST\r\n"));
  EXPECT_EQ(server->counters().requests.value(), 5U);
}

TEST(HttpServer, RejectsMalformedRequests) {
  const auto server = Serve();
  for (const char* bad :
       {"GARBAGE\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n", "GET /hello\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /../etc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}) {
    EXPECT_THAT(Ask(*server, bad), StartsWith("HTTP/1.1 400 Bad Request")) << bad;
  }
  EXPECT_THAT(
      Ask(*server, "GET /hello HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(Ask(*server, "GET /throws HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 500"));
  // The server still accepts requests.
  EXPECT_THAT(Ask(*server, "GET /healthz HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
}

uint64_t Refused(const HttpServer& server, Refusal reason) {
  return server.counters().refused[static_cast<size_t>(reason)].value();
}

TEST(HttpServer, RejectsNonconformingHeaders) {
  const auto server = Serve();
  const std::pair<const char*, const char*> cases[] = {
      {"GET /hello HTTP/1.1\r\n\r\n", "no Host header"},
      {"GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "two Host headers"},
      {"GET /hello HTTP/1.1\r\nHost: a, b\r\n\r\n", "malformed Host"},
      {"GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n", "malformed Host"},
      {"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", "folded header line"},
      {"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\tb\r\n\r\n", "folded header line"},
      {"GET /hello HTTP/1.1\r\n Host: localhost\r\n\r\n", "folded header line"},
      {"GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n", "malformed header line"},
      {"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\x01\r\n\r\n", "control character"},
      {"GET /hello HTTP/1.1\nHost: localhost\n\n", "does not end with CRLF"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
       "unknown transfer coding"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
       "unknown transfer coding"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
       "Transfer-Encoding: chunked\r\n\r\n",
       "two Transfer-Encoding"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
       "Content-Length: 3\r\n\r\n",
       "both Transfer-Encoding and Content-Length"},
      {"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer coding in HTTP/1.0"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: "
       "3\r\n\r\nabc",
       "two Content-Length"},
      {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: +3\r\n\r\nabc",
       "malformed Content-Length"},
  };
  for (const auto& [request, cause] : cases) {
    const std::string answer = Ask(*server, request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request")) << request;
    EXPECT_THAT(answer, HasSubstr(cause)) << request;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << request;
  }
  EXPECT_EQ(Refused(*server, Refusal::kMalformed), std::size(cases));
  EXPECT_THAT(
      Ask(*server, "\r\nGET /hello HTTP/1.1\r\nhost: LOCALHOST:1\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(
      Ask(*server, "\r\nGET /hello HTTP/1.1\r\nhost: localhost:1\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(*server,
                  "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n"
                  "Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
              ::testing::EndsWith("abc"));
}

TEST(HttpServer, ConnectionWithSlowBodyIsClosedAtDeadline) {
  const auto server = Serve({.timeouts = {.body_timeout_ns = 200 * kMs}});
  const RawSocket slow = RawSocket::Connect(server->port());
  ASSERT_TRUE(slow.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc"));
  EXPECT_TRUE(slow.AtEnd());
  // By this time, the I/O thread has counted the closed connection.
  Ask(*server, "GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(Refused(*server, Refusal::kSlowBody), 1U);
}

TEST(HttpServer, LimitsConnectionsPerAddress) {
  const auto server =
      Serve({.limits = {.max_connections_per_address = 1, .reserved_connections = 0}});
  RawSocket first = RawSocket::Connect(server->port());
  ASSERT_TRUE(first.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(first.ReadUntil("ok"), HasSubstr("200"));
  const RawSocket beyond = RawSocket::Connect(server->port());
  ASSERT_TRUE(beyond.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const std::string refusal = beyond.ReadAll();
  EXPECT_THAT(refusal, HasSubstr("HTTP/1.1 503 "));
  EXPECT_THAT(refusal, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_THAT(refusal, HasSubstr("\r\n\r\ntoo many connections\n"));
  EXPECT_EQ(Refused(*server, Refusal::kAddressConnections), 1U);
  // Closing the connection makes room for another one.
  first.Close();
  std::string answer;
  for (int i = 0; i < 1000 && answer.find("200 OK") == std::string::npos; ++i)
    answer = Ask(*server, "GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST(HttpServer, ViewAndActRequireSeparateTokens) {
  std::vector<HttpRoute> routes = Routes();
  routes.push_back({.method = "POST",
                    .path = "/stop",
                    .handler = [](const HttpRequest&) { return HttpResponse::Text(200, "done"); },
                    .role = Role::kAct});
  HttpServerOptions options;
  options.listen = "0.0.0.0:0";
  options.access.tokens = {.view = "look", .act = "touch"};
  const auto ask = [](const HttpServer& server, std::string_view what, std::string_view header) {
    return Ask(server, Cat(what, " HTTP/1.1\r\nHost: localhost\r\n", header,
                           "Content-Length: 0\r\nConnection: close\r\n\r\n"))
        .substr(9, 3);
  };
  const auto server = Serve(options, routes);
  constexpr std::string_view kLook = "Authorization: Bearer look\r\n";
  constexpr std::string_view kTouch = "Authorization: Bearer touch\r\n";
  EXPECT_EQ(ask(*server, "GET /hello", kLook), "200");
  EXPECT_EQ(ask(*server, "GET /hello", kTouch), "200");
  EXPECT_EQ(ask(*server, "POST /stop", kTouch), "200");
  EXPECT_EQ(ask(*server, "POST /stop", kLook), "403");
  EXPECT_EQ(ask(*server, "POST /stop", ""), "401");
  EXPECT_EQ(ask(*server, "POST /stop", "Authorization: Bearer toucH\r\n"), "401");
  // A request that another site triggers in the browser never has an effect.
  EXPECT_EQ(ask(*server, "POST /stop", "Cookie: pitwall_token=touch\r\n"), "403");
  EXPECT_EQ(ask(*server, "GET /hello", "Cookie: pitwall_token=touch\r\n"), "200");
  EXPECT_EQ(Refused(*server, Refusal::kWrongRole), 2U);
  EXPECT_EQ(Refused(*server, Refusal::kNoToken), 2U);
  // On loopback, viewing does not require a token, but acting does.
  const auto open = Serve({}, routes);
  EXPECT_EQ(ask(*open, "GET /hello", ""), "200");
  EXPECT_EQ(ask(*open, "POST /stop", ""), "403");
  options.listen = "127.0.0.1:0";
  options.access.tokens = {.view = "", .act = "touch"};
  const auto act = Serve(options, routes);
  EXPECT_EQ(ask(*act, "GET /hello", ""), "200");
  EXPECT_EQ(ask(*act, "POST /stop", ""), "401");
  EXPECT_EQ(ask(*act, "POST /stop", kTouch), "200");
}

TEST(HttpServer, LimitsHeaderAndBodySize) {
  HttpServerOptions options;
  options.limits.max_header_bytes = 1024;
  options.limits.max_body_bytes = 100;
  const auto server = Serve(options);
  EXPECT_THAT(
      Ask(*server,
          Cat("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: ", std::string(2000, 'x'), "\r\n\r\n")),
      StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask(*server, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 101\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(
      Ask(*server,
          Cat("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
              std::string(101, 'y'), "\r\n0\r\n\r\n")),
      StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(server->counters().bad_requests.value(), 3U);
}

TEST(HttpServer, ConnectionWithSlowRequestIsClosedAtDeadline) {
  HttpServerOptions options;
  options.timeouts.header_timeout_ns = 300 * kMs;
  const auto server = Serve(options);
  const RawSocket silent = RawSocket::Connect(server->port());
  const RawSocket slow = RawSocket::Connect(server->port());
  ASSERT_TRUE(slow.Send("GET /hello HTTP/1.1\r\nX: "));
  // The client sends one byte at a time. Although each byte is progress, one deadline applies to
  // the whole request.
  std::atomic<bool> stop{false};
  std::thread trickle([&] {
    while (!stop && slow.Send("x")) slow.WaitReadable(20);
  });
  EXPECT_TRUE(slow.AtEnd());
  EXPECT_TRUE(silent.AtEnd());
  stop = true;
  trickle.join();
}

TEST(HttpServer, IdleConnectionIsClosed) {
  HttpServerOptions options;
  options.timeouts.idle_timeout_ns = 200 * kMs;
  const auto server = Serve(options);
  const RawSocket socket = RawSocket::Connect(server->port());
  ASSERT_TRUE(socket.Send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(socket.ReadUntil("hi "), HasSubstr("200 OK"));
  EXPECT_TRUE(socket.AtEnd());
}

TEST(HttpServer, LimitsConnections) {
  const auto server = Serve({.limits = {.max_connections = 2, .reserved_connections = 0}});
  const RawSocket a = RawSocket::Connect(server->port());
  const RawSocket b = RawSocket::Connect(server->port());
  // The first two connections are served before the third one is opened.
  for (const RawSocket* socket : {&a, &b}) {
    ASSERT_TRUE(socket->Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    EXPECT_THAT(socket->ReadUntil("ok"), HasSubstr("200"));
  }
  EXPECT_THAT(RawSocket::Connect(server->port()).ReadAll(), HasSubstr("503"));
  EXPECT_EQ(server->counters().connections_refused.value(), 1U);
  std::vector<RawSocket> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(RawSocket::Connect(server->port()));
  size_t told = 0;
  for (const RawSocket& socket : crowd) told += socket.ReadAll().empty() ? 0 : 1;
  EXPECT_GE(told, 8U);
  EXPECT_EQ(server->counters().connections_refused.value(), 101U);
}

TEST(HttpServer, LimitsWaitingRequests) {
  Gatekeeper gate;
  HttpServerOptions options;
  options.handler_threads = 1;
  options.limits.max_waiting_requests = 2;
  const auto server = Serve(options, {{"GET", "/wait",
                                       [&](const HttpRequest&) {
                                         gate.Wait();
                                         return HttpResponse::Text(200, "done");
                                       },
                                       false}});
  constexpr std::string_view kRequest =
      "GET /wait HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const RawSocket first = RawSocket::Connect(server->port());
  ASSERT_TRUE(first.Send(kRequest));
  gate.AwaitInside(1);
  const RawSocket second = RawSocket::Connect(server->port());
  ASSERT_TRUE(second.Send(kRequest));
  // The second request waits for the thread, so the third one finds the queue full.
  std::string third;
  while (server->counters().requests.value() < 2) second.WaitReadable(1);
  third = Ask(*server, kRequest);
  EXPECT_THAT(third, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(third, HasSubstr("Retry-After: 1\r\n"));
  gate.Open();
  EXPECT_THAT(first.ReadAll(), HasSubstr("done"));
  EXPECT_THAT(second.ReadAll(), HasSubstr("done"));
}

TEST(HttpServer, StopWaitsForRunningRequest) {
  Gatekeeper gate;
  const auto server = Serve({}, {{"GET", "/wait",
                                  [&](const HttpRequest&) {
                                    gate.Wait();
                                    return HttpResponse::Text(200, "done");
                                  },
                                  false}});
  const RawSocket idle = RawSocket::Connect(server->port());
  const RawSocket busy = RawSocket::Connect(server->port());
  ASSERT_TRUE(busy.Send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  gate.AwaitInside(1);
  std::thread stopper([&] { server->Stop(10'000 * kMs); });
  EXPECT_TRUE(idle.AtEnd());
  gate.Open();
  const std::string answer = busy.ReadAll();
  EXPECT_THAT(answer, HasSubstr("done"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  stopper.join();
  EXPECT_FALSE(RawSocket::Connect(server->port()).ok());
  server->Stop();
}

TEST(HttpServer, StopDoesNotWaitForSlowReader) {
  HttpServerOptions options;
  const auto server = Serve(
      options,
      {{"GET", "/big",
        [&](const HttpRequest&) { return HttpResponse::Text(200, std::string(64 << 20, 'x')); },
        false}});
  const RawSocket socket = RawSocket::Connect(server->port());
  ASSERT_TRUE(socket.Send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(socket.ReadUntil("\r\n\r\n"), HasSubstr("200 OK"));
  server->Stop(100 * kMs);  // returns even though the client reads nothing
}

TEST(HttpServer, RequiresTokenBeyondLoopback) {
  HttpServerOptions options;
  options.listen = "0.0.0.0:0";
  EXPECT_EQ(HttpServer::Start(options, Routes()).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.access.tokens.view = "t0ken";
  const auto server = Serve(options);
  EXPECT_THAT(Ask(*server, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(*server, "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(*server, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(*server,
                  "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\nConnection: "
                  "close\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, StartErrorNamesCause) {
  const auto server = Serve();
  HttpServerOptions options;
  options.listen = Cat("127.0.0.1:", server->port());
  const Status taken = HttpServer::Start(options, {}).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.ToString(), HasSubstr(options.listen));
  options.listen = "nowhere";
  EXPECT_EQ(HttpServer::Start(options, {}).status().code(), absl::StatusCode::kInvalidArgument);
  options.listen = "127.0.0.1:0";
  options.tls.certificate_file = "/nonexistent.pem";
  EXPECT_THAT(HttpServer::Start(options, {}).status().ToString(), HasSubstr("/nonexistent.pem"));
}

// Creates a certificate for 127.0.0.1 with the openssl command.
bool MakeCertificate(const std::string& dir, const std::string& name) {
  return std::system(Cat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                         "-days 2 -subj /CN=",
                         name, " -addext subjectAltName=IP:127.0.0.1 -keyout ", dir,
                         "/key.pem -out ", dir, "/cert.pem >/dev/null 2>&1")
                         .c_str()) == 0;
}

TEST(HttpServer, ServesTlsAndReloadsCertificates) {
  const std::string dir = testing::TempDir() + Cat("/pitwall-tls-", getpid());
  ASSERT_EQ(std::system(Cat("mkdir -p ", dir).c_str()), 0);
  if (!MakeCertificate(dir, "one")) GTEST_SKIP() << "the openssl command is not available";
  HttpServerOptions options;
  options.tls.certificate_file = dir + "/cert.pem";
  options.tls.key_file = dir + "/key.pem";
  const auto server = Serve(options);
  const auto fetch = [&] {
    CurlTransportOptions curl;
    curl.ca_file = dir + "/cert.pem";
    const auto transport = MakeCurlTransport(curl);
    HttpCall call;
    call.method = "GET";
    call.url = Cat("https://127.0.0.1:", server->port(), "/hello?name=tls");
    return (*transport)->Perform(call);
  };
  StatusOr<HttpReply> reply = fetch();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->body, "hi tls");
  // A plain-text client gets no content and does not affect the server.
  EXPECT_THAT(Ask(*server, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"), Not(HasSubstr("hi")));
  // Only cipher suites with forward secrecy and authenticated encryption are accepted, so CBC and
  // RSA key exchange are rejected.
  const auto handshake = [&](std::string_view options_of_client) {
    return std::system(Cat("openssl s_client -connect 127.0.0.1:", server->port(), " ",
                           options_of_client, " </dev/null >/dev/null 2>&1")
                           .c_str()) == 0;
  };
  EXPECT_TRUE(handshake("-tls1_3"));
  EXPECT_TRUE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256"));
  EXPECT_TRUE(handshake("-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305"));
  EXPECT_FALSE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA"));
  EXPECT_FALSE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES256-SHA384"));
  EXPECT_FALSE(handshake("-tls1_1 -cipher DEFAULT@SECLEVEL=0"));
  // New connections use a certificate that was replaced on disk. After an invalid replacement, the
  // previous certificate stays active.
  ASSERT_TRUE(MakeCertificate(dir, "two"));
  reply = fetch();
  EXPECT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(std::system(Cat("cp ", dir, "/cert.pem ", dir, "/good.pem").c_str()), 0);
  std::ofstream(dir + "/cert.pem", std::ios::trunc) << "no certificate";
  ASSERT_EQ(std::system(Cat("touch ", dir, "/cert.pem").c_str()), 0);
  CurlTransportOptions curl;
  curl.ca_file = dir + "/good.pem";
  HttpCall call;
  call.method = "GET";
  call.url = Cat("https://127.0.0.1:", server->port(), "/healthz");
  reply = (*MakeCurlTransport(curl))->Perform(call);
  EXPECT_TRUE(reply.ok()) << reply.status();
  std::system(Cat("rm -r ", dir).c_str());
}

TEST(HttpServer, ServesManyConcurrentClients) {
  const auto server = Serve();
  std::atomic<int> right{0};
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string name = Cat(t, "-", i);
        const std::string answer =
            Ask(*server, Cat("GET /hello?name=", name,
                             " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        if (EndsWith(answer, Cat("hi ", name))) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace pitwall::http
