#include "services/adapters/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::http {
namespace {

HttpRoute Route(std::string method, std::string path, bool open = false) {
  return {std::move(method), std::move(path), [](const HttpRequest&) { return HttpResponse(); },
          open};
}

TEST(Router, LongestMatchWins) {
  StatusOr<Router> router =
      Router::Make({Route("GET", "/*"), Route("GET", "/api/*"), Route("GET", "/api/jobs"),
                    Route("POST", "/api/jobs"), Route("POST", "/only")});
  ASSERT_TRUE(router.ok()) << router.status();
  const auto path = [&](std::string_view method, std::string_view target) -> std::string {
    const Router::Match match = router->Find(method, target);
    return match.route == nullptr ? "none, allow " + match.allow
                                  : match.route->method + match.route->path;
  };
  EXPECT_EQ(path("GET", "/"), "GET/*");
  EXPECT_EQ(path("GET", "/x"), "GET/*");
  EXPECT_EQ(path("GET", "/api/x"), "GET/api/*");
  EXPECT_EQ(path("GET", "/api/jobs"), "GET/api/jobs");
  EXPECT_EQ(path("HEAD", "/api/jobs"), "GET/api/jobs");
  EXPECT_EQ(path("POST", "/api/jobs"), "POST/api/jobs");
  EXPECT_EQ(path("PUT", "/api/jobs"), "none, allow GET, HEAD, POST");
  EXPECT_EQ(path("GET", "/api"), "GET/*");
  EXPECT_EQ(path("GET", "/only"), "none, allow POST");
}

TEST(Router, RejectsInvalidRoutes) {
  EXPECT_FALSE(Router::Make({Route("GET", "/a"), Route("GET", "/a")}).ok());
  EXPECT_FALSE(Router::Make({Route("GET", "a")}).ok());
  EXPECT_FALSE(Router::Make({Route("get", "/a")}).ok());
  EXPECT_FALSE(Router::Make({{"GET", "/a", nullptr, false}}).ok());
}

TEST(ParseTarget, DecodesValidTargetsOnly) {
  HttpRequest request;
  ASSERT_TRUE(ParseTarget("/a%20b?x=1+2&y=%26&&z", &request));
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.Query("x"), "1 2");
  EXPECT_EQ(request.Query("y"), "&");
  EXPECT_EQ(request.query.size(), 3U);
  for (const char* bad : {"", "a", "*", "http://x/", "/%", "/%2", "/%zz", "/%00", "/a/../b",
                          "/%2e%2e/x", "/./x", "/x?a=%"}) {
    HttpRequest other;
    EXPECT_FALSE(ParseTarget(bad, &other)) << bad;
  }
  std::string many = "/?";
  for (int i = 0; i < 101; ++i) many += "a=1&";
  HttpRequest other;
  EXPECT_FALSE(ParseTarget(many, &other));
}

int Verdict(const Gate& gate, HttpRequest request, bool open = false) {
  const auto turned = gate.Check(request, Route("GET", "/", open));
  return turned ? turned->response.status : 200;
}

TEST(Gate, TokenGrantsRole) {
  const Gate gate({.view = "s3cret", .act = ""}, false, {});
  const auto with = [](std::string name, std::string value) {
    HttpRequest request;
    request.headers = {{std::move(name), std::move(value)}};
    return request;
  };
  EXPECT_EQ(Verdict(gate, {}), 401);
  EXPECT_EQ(Verdict(gate, {}, true), 200);
  EXPECT_EQ(Verdict(gate, with("authorization", "Bearer s3cret")), 200);
  EXPECT_EQ(Verdict(gate, with("authorization", "Bearer s3cre")), 401);
  EXPECT_EQ(Verdict(gate, with("authorization", "Bearer ")), 401);
  EXPECT_EQ(Verdict(gate, with("authorization", "Basic s3cret")), 401);
  EXPECT_EQ(Verdict(gate, with("cookie", "a=b; pitwall_token=s3cret")), 200);
  EXPECT_EQ(Verdict(gate, with("cookie", "pitwall_token=x")), 401);
}

TEST(Gate, LoopbackRejectsForeignHostNames) {
  const Gate gate({}, true, {"ui.example"});
  const auto host = [](std::string value) {
    HttpRequest request;
    request.headers = {{"host", std::move(value)}};
    return request;
  };
  for (const char* good :
       {"localhost", "localhost:9870", "127.0.0.1:9870", "[::1]:80", "ui.example:1"}) {
    EXPECT_EQ(Verdict(gate, host(good)), 200) << good;
  }
  for (const char* bad :
       {"evil.example", "evil.example:9870", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"}) {
    EXPECT_EQ(Verdict(gate, host(bad)), 421) << bad;
  }
}

TEST(ListenAddress, ParsesValidAddressesOnly) {
  EXPECT_TRUE(ParseListenAddress("127.0.0.1:0")->loopback);
  EXPECT_TRUE(ParseListenAddress("localhost:1")->loopback);
  EXPECT_TRUE(ParseListenAddress("[::1]:1")->loopback);
  EXPECT_FALSE(ParseListenAddress("[::]:1")->loopback);
  EXPECT_FALSE(ParseListenAddress(":9870")->loopback);
  EXPECT_EQ(ParseListenAddress("0.0.0.0:9870")->port, 9870);
  for (const char* bad : {"", "1", "::1:1", "host:1", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:-1"}) {
    EXPECT_FALSE(ParseListenAddress(bad).ok()) << bad;
  }
}

TEST(Gate, SessionCookieGrantsRole) {
  fakes::FakeClock clock;
  const auto sessions = std::make_shared<CookieSessions>(&clock);
  const std::string view = sessions->Open(Role::kView)->cookie;
  const std::string act = sessions->Open(Role::kAct)->cookie;
  const Gate gate({.view = "v", .act = "a"}, false, {}, {"https://ui.example"}, sessions);
  const auto ask = [&](std::string_view method, const std::string& cookie, std::string_view origin,
                       Role role) {
    HttpRequest request;
    request.method = method;
    request.headers = {{"cookie", Cat("x=y; pitwall_session=", cookie)}, {"host", "srv:9870"}};
    if (!origin.empty()) request.headers.emplace_back("origin", std::string(origin));
    HttpRoute route = Route(std::string(method), "/", false);
    route.role = role;
    const auto turned = gate.Check(request, route);
    return turned ? turned->response.status : 200;
  };
  EXPECT_EQ(ask("GET", view, "", Role::kView), 200);
  EXPECT_EQ(ask("GET", "no", "", Role::kView), 401);
  EXPECT_EQ(ask("POST", view, "http://srv:9870", Role::kAct), 403);
  EXPECT_EQ(ask("POST", act, "http://srv:9870", Role::kAct), 200);
  EXPECT_EQ(ask("POST", act, "http://SRV:9870", Role::kAct), 200);
  EXPECT_EQ(ask("DELETE", act, "https://ui.example", Role::kAct), 200);
  // Rejected origins: another site, another port, a foreign suffix, an opaque origin, and an empty
  // one.
  EXPECT_EQ(ask("POST", act, "http://evil.example", Role::kAct), 403);
  EXPECT_EQ(ask("POST", act, "http://srv:80", Role::kAct), 403);
  EXPECT_EQ(ask("POST", act, "http://srv:9870.evil.example", Role::kAct), 403);
  EXPECT_EQ(ask("POST", act, "null", Role::kAct), 403);
  EXPECT_EQ(ask("POST", act, "", Role::kAct), 401);
  clock.Advance(int64_t{12} * 3600 * kNanosPerSecond);
  EXPECT_EQ(ask("GET", view, "", Role::kView), 401);
}

TEST(Gate, ForeignOriginCannotMakeChanges) {
  const Gate gate({.view = "v", .act = "a"}, false, {});
  const auto ask = [&](std::string_view method, std::string_view origin, bool open) {
    HttpRequest request;
    request.method = method;
    request.headers = {
        {"authorization", "Bearer a"}, {"host", "srv:9870"}, {"origin", std::string(origin)}};
    const auto turned = gate.Check(request, Route(std::string(method), "/", open));
    return turned ? turned->response.status : 200;
  };
  EXPECT_EQ(ask("POST", "http://evil.example", false), 403);
  EXPECT_EQ(ask("POST", "http://evil.example", true),
            403);  // even an open route rejects requests from foreign pages
  EXPECT_EQ(ask("POST", "http://srv:9870", false), 200);
  EXPECT_EQ(ask("POST", "", false), 200);  // request that does not come from a browser
  EXPECT_EQ(ask("GET", "http://evil.example", false), 200);
}

}  // namespace
}  // namespace pitwall::http
