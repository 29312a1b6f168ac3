#include "services/adapters/http/client/curl_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "services/adapters/http/http_server.h"
#include "services/adapters/http/testing/raw_socket.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<HttpTransport> Transport(CurlTransportOptions options = {}) {
  StatusOr<std::unique_ptr<HttpTransport>> transport = MakeCurlTransport(std::move(options));
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

HttpCall Get(std::string url) {
  HttpCall call;
  call.method = "GET";
  call.url = std::move(url);
  return call;
}

// Server that sends `answer` on one connection regardless of the request, and records the request.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer)
      : thread_([this, answer = std::move(answer)] {
          const RawSocket socket = listener_.Accept();
          if (!socket.ok()) return;
          request_ = socket.ReadUntil("\r\n\r\n");
          socket.Send(answer);
        }) {}
  ~OneAnswer() { (void)Request(); }
  std::string Request() {
    if (thread_.joinable()) {
      listener_.Shutdown();
      thread_.join();
    }
    return request_;
  }
  std::string Url() const { return Cat("http://127.0.0.1:", listener_.port(), "/x"); }

 private:
  RawListener listener_;
  std::string request_;
  std::thread thread_;
};

TEST(CurlTransport, SendsRequestAndReadsResponse) {
  HttpRequest seen;
  const auto server = HttpServer::Start({}, {{"POST", "/hook",
                                              [&](const HttpRequest& request) {
                                                seen = request;
                                                HttpResponse response =
                                                    HttpResponse::Text(429, "later");
                                                response.headers.emplace_back("Retry-After", "7");
                                                return response;
                                              },
                                              false}});
  ASSERT_TRUE(server.ok());
  const auto transport = Transport();
  HttpCall call;
  call.url = Cat("http://127.0.0.1:", (*server)->port(), "/hook?a=1");
  call.headers = {{"Content-Type", "application/cloudevents+json"}, {"X-Empty", ""}};
  call.body = std::string("a\0b", 3);
  for (int i = 0; i < 3; ++i) {
    const StatusOr<HttpReply> reply = transport->Perform(call);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->status, 429);
    EXPECT_EQ(reply->body, "later");
    EXPECT_EQ(reply->Header("retry-after"), "7");
  }
  EXPECT_EQ(seen.body, std::string("a\0b", 3));
  EXPECT_EQ(seen.Header("content-type"), "application/cloudevents+json");
  EXPECT_EQ(seen.Header("user-agent"), "pitwall");
  EXPECT_EQ((*server)->counters().connections.value(), 1U) << "the connection must be kept alive";
}

TEST(CurlTransport, RejectsInvalidUrls) {
  const auto transport = Transport();
  for (const char* bad : {"", "nonsense", "ftp://example.com/", "file:///etc/passwd",
                          "http://example.com/", "http://10.0.0.1/", "https://user:pw@example.com/",
                          "gopher://127.0.0.1/", "http://127.0.0.1.nip.io/"}) {
    EXPECT_EQ(transport->CheckUrl(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(transport->Perform(Get(bad)).status().code(), absl::StatusCode::kInvalidArgument)
        << bad;
  }
  EXPECT_THAT(transport->CheckUrl("https://u:topsecret@h/").ToString(),
              Not(HasSubstr("topsecret")));
  for (const char* good : {"https://example.com/x?y=z", "http://127.0.0.1:1/", "http://localhost/",
                           "http://[::1]:2/"}) {
    EXPECT_TRUE(transport->CheckUrl(good).ok()) << good;
  }
  CurlTransportOptions options;
  options.allow_insecure = true;
  EXPECT_TRUE(Transport(options)->CheckUrl("http://example.com/").ok());
}

TEST(CurlTransport, RejectsDisallowedAddressesOnConnect) {
  CurlTransportOptions options;
  options.allow_insecure = true;
  const auto transport = Transport(options);
  for (const char* url : {"http://10.255.255.1:9/", "http://169.254.169.254/latest/meta-data/",
                          "http://192.168.0.1/", "http://0.0.0.0:9/", "http://[fd00::1]/",
                          "http://[::ffff:10.0.0.1]/", "http://2130706433.invalid/"}) {
    const Status status = transport->Perform(Get(url)).status();
    if (std::string_view(url).find("invalid") != std::string_view::npos) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << url;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << url << status;
      EXPECT_THAT(status.ToString(), HasSubstr("not allowed")) << url;
    }
  }
}

TEST(CurlTransport, AllowListPermitsAddress) {
  // 0.0.0.0 also reaches this server, but no allowed CIDR covers it.
  OneAnswer server("HTTP/1.1 204 No Content\r\n\r\n");
  const std::string url = server.Url();
  const std::string port = url.substr(url.rfind(':'));
  CurlTransportOptions options;
  options.allow_insecure = true;
  options.allowed_cidrs = {"127.0.0.0/8"};
  const StatusOr<HttpReply> reply = Transport(options)->Perform(Get("http://0.0.0.0" + port));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kFailedPrecondition);
  const StatusOr<HttpReply> other = Transport(options)->Perform(Get(url));
  EXPECT_TRUE(other.ok()) << other.status();
  options.allowed_cidrs = {"nonsense"};
  EXPECT_FALSE(MakeCurlTransport(options).ok());
}

TEST(CurlTransport, DoesNotFollowRedirects) {
  OneAnswer server(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  const StatusOr<HttpReply> reply = Transport()->Perform(Get(server.Url()));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 302);
}

TEST(CurlTransport, IgnoresProxyEnvironmentVariables) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const StatusOr<HttpReply> reply = Transport()->Perform(Get(server.Url()));
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->body, "ok");
}

TEST(CurlTransport, LimitsResponseSize) {
  for (const std::string& length : {std::string("Content-Length: 70000\r\n"), std::string()}) {
    OneAnswer server(Cat("HTTP/1.1 200 OK\r\n", length, "\r\n", std::string(70'000, 'x')));
    EXPECT_EQ(Transport()->Perform(Get(server.Url())).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  std::string headers;
  for (int i = 0; i < 2000; ++i) CatTo(headers, "X-", i, ": ", std::string(100, 'y'), "\r\n");
  OneAnswer server(Cat("HTTP/1.1 200 OK\r\n", headers, "\r\n"));
  EXPECT_EQ(Transport()->Perform(Get(server.Url())).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// A receiver that has accepted a request must not receive it again just because the rest of its
// response is invalid.
TEST(CurlTransport, InvalidBodyAfterStatusIsIgnored) {
  const auto status = [](std::string_view answer, bool suffices = true) {
    OneAnswer server{std::string(answer)};
    HttpCall call = Get(server.Url());
    call.status_suffices = suffices;
    call.timeout = Duration::Seconds(2);
    const StatusOr<HttpReply> reply = Transport()->Perform(call);
    return reply.ok() ? reply->status : -1;
  };
  const std::string body(70'000, 'x');
  for (const std::string& answer :
       {Cat("HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n", body),
        Cat("HTTP/1.1 202 Accepted\r\n\r\n", body), std::string("HTTP/1.1 204 No Content\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"),
        std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n5\r\nab")})
    EXPECT_EQ(status(answer) / 100, 2) << answer.substr(0, 60);
  EXPECT_EQ(status("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", false), -1);
  // Status 100 is interim, and no final response follows.
  EXPECT_EQ(status("HTTP/1.1 100 Continue\r\n\r\n"), -1);
}

TEST(CurlTransport, LimitsCallDuration) {
  // The connection is closed before the end of the body.
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(Transport()->Perform(Get(server.Url())).status().code(),
            absl::StatusCode::kUnavailable);
  RawListener silent;  // accepts the connection but never responds
  HttpCall call = Get(Cat("http://127.0.0.1:", silent.port(), "/"));
  call.timeout = Duration::Millis(200);
  EXPECT_EQ(Transport()->Perform(call).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(CurlTransport, CallCanBeCanceled) {
  RawListener silent;
  std::atomic<bool> cancel{false};
  HttpCall call = Get(Cat("http://127.0.0.1:", silent.port(), "/"));
  call.cancel = &cancel;
  std::thread canceller([&] {
    const RawSocket socket = silent.Accept();
    (void)socket.ReadUntil("\r\n\r\n");
    cancel = true;
    (void)socket.AtEnd();
  });
  EXPECT_EQ(Transport()->Perform(call).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST(CurlTransport, UnreachableServerIsUnavailable) {
  uint16_t port = 0;
  {
    RawListener gone;
    port = gone.port();
  }
  EXPECT_EQ(Transport()->Perform(Get(Cat("http://127.0.0.1:", port, "/"))).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(CurlTransport, HeaderInjectionIsRejected) {
  HttpCall call = Get("http://127.0.0.1:1/");
  call.headers = {{"X", "a\r\nEvil: 1"}};
  EXPECT_EQ(Transport()->Perform(call).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pitwall::http
