// Tests for request bodies that never end or end too early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "services/adapters/http/http_server.h"
#include "services/adapters/http/testing/raw_socket.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

using ::testing::StartsWith;

constexpr std::string_view kChunked =
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

class HttpBodyTest : public testing::Test {
 protected:
  HttpBodyTest() {
    auto server = HttpServer::Start(
        {.listen = "127.0.0.1:0"},
        {{.method = "POST",
          .path = "/echo",
          .handler =
              [](const HttpRequest& request) { return HttpResponse::Text(200, request.body); },
          .open = true}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // Sends the request in pieces of `size` bytes and returns the response.
  std::string Ask(std::string_view request, size_t size) const {
    const RawSocket socket = RawSocket::Connect(server_->port());
    while (!request.empty() && socket.Send(request.substr(0, size)))
      request.remove_prefix(std::min(size, request.size()));
    return socket.ReadAll();
  }
  uint64_t Refused(Refusal reason) const {
    return server_->counters().refused[static_cast<size_t>(reason)].value();
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpBodyTest, ChunkWithoutEnd_IsRejected) {
  const std::string endless(200'000, 'a');
  const std::string_view kWhole =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
      "Connection: close\r\n\r\nok";
  for (const std::string& body : {Cat("5;x=", endless), Cat("0\r\nX: ", endless)}) {
    for (const size_t part : {size_t{1} << 20, size_t{4000}}) {
      Ask(Cat(kChunked, body), part);  // the server resets the connection or responds with 431
      EXPECT_THAT(Ask(kWhole, part), StartsWith("HTTP/1.1 200 OK"));
    }
  }
  EXPECT_EQ(Refused(Refusal::kTooLarge), 4U);
}

TEST_F(HttpBodyTest, LargeChunkedBody_IsReadCompletely) {
  std::string body;
  for (int i = 0; i < 500; ++i) body += Cat("1f4\r\n", std::string(500, 'b'), "\r\n");
  const std::string request =
      Cat("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: "
          "close\r\n\r\n",
          body, "0\r\n\r\n");
  for (const size_t part : {size_t{1} << 20, size_t{997}, size_t{7}}) {
    const std::string answer = Ask(request, part);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_THAT(answer, testing::EndsWith(std::string(250'000, 'b')));
  }
}

TEST_F(HttpBodyTest, ClientClosesBeforeEndOfBody_GetsBadRequest) {
  const RawSocket socket = RawSocket::Connect(server_->port());
  ASSERT_TRUE(
      socket.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"));
  shutdown(socket.fd(), SHUT_WR);
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 400 Bad Request"));
  EXPECT_EQ(Refused(Refusal::kMalformed), 1U);
}

}  // namespace
}  // namespace pitwall::http
