#include "services/web/page_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "services/adapters/http/router.h"

namespace pitwall::history {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array<PageFile, 2> kPage = {
    {{"/assets/a-1.js", "text/javascript; charset=utf-8", "\"11\"", "plain", "gz", "br"},
     {"/index.html", "text/html; charset=utf-8", "\"22\"", "<html>", "", ""}}};

http::HttpResponse Ask(std::span<const PageFile> files, std::string_view path,
                       std::vector<std::pair<std::string, std::string>> headers = {}) {
  const auto router = http::Router::Make(PageRoutesOf(files, "policy"));
  EXPECT_TRUE(router.ok()) << router.status();
  const http::HttpRoute* route = router->Find("GET", path).route;
  if (route == nullptr) return http::HttpResponse::Text(404, "no route");
  EXPECT_TRUE(route->open);
  http::HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.headers = std::move(headers);
  return route->handler(request);
}

std::string Header(const http::HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(PageRoutes, PagePaths_ServeIndex) {
  for (const char* path : {"/", "/jobs", "/jobs/x", "/jobs/a/b"}) {
    const http::HttpResponse answer = Ask(kPage, path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, "<html>") << path;
    EXPECT_EQ(answer.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(Header(answer, "Cache-Control"), "no-cache");
    EXPECT_EQ(Header(answer, "Content-Security-Policy"), "policy");
  }
}

TEST(PageRoutes, ApiPaths_AreNotServed) {
  for (const char* path : {"/api", "/api/pitwall/v1/jobs", "/metrics", "/index.html", "/other"})
    EXPECT_EQ(Ask(kPage, path).body, "no route") << path;
}

TEST(PageRoutes, HashedFile_IsImmutable) {
  const http::HttpResponse answer = Ask(kPage, "/assets/a-1.js");
  EXPECT_EQ(answer.body, "plain");
  EXPECT_EQ(Header(answer, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(Header(answer, "Vary"), "Accept-Encoding");
  EXPECT_EQ(Header(answer, "Content-Encoding"), "");
  const http::HttpResponse missing = Ask(kPage, "/assets/a-2.js");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(Header(missing, "Content-Security-Policy"), "policy");
}

TEST(PageRoutes, AcceptEncoding_SelectsCoding) {
  const auto body = [](const char* accepted) {
    return Ask(kPage, "/assets/a-1.js", {{"accept-encoding", accepted}}).body;
  };
  EXPECT_EQ(body("gzip, deflate, br"), "br");
  EXPECT_EQ(body("gzip, deflate"), "gz");
  EXPECT_EQ(body("br;q=0, gzip;q=0.5"), "gz");
  EXPECT_EQ(body("br;q=0.1"), "br");
  EXPECT_EQ(body("brx, xgzip"), "plain");
  EXPECT_EQ(body(""), "plain");
  EXPECT_EQ(Ask(kPage, "/", {{"accept-encoding", "br"}}).body, "<html>");
}

TEST(PageRoutes, EntityTagOfSameCoding_ReturnsNotModified) {
  const auto status = [](const char* tag, const char* accepted) {
    return Ask(kPage, "/assets/a-1.js", {{"if-none-match", tag}, {"accept-encoding", accepted}})
        .status;
  };
  EXPECT_EQ(status("\"11\"", ""), 304);
  EXPECT_EQ(status("\"00\", W/\"11\"", ""), 304);
  EXPECT_EQ(status("\"11-br\"", "br"), 304);
  EXPECT_EQ(status("\"11\"", "br"), 200);
  EXPECT_EQ(status("\"22\"", ""), 200);
}

TEST(PageRoutes, BuildWithoutPage_ReturnsReasonAndFix) {
  for (const char* path : {"/", "/jobs/x", "/assets/a-1.js"}) {
    const http::HttpResponse answer = Ask({}, path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_THAT(answer.body, HasSubstr("built without the web page (-DPITWALL_PAGE=OFF)"));
    EXPECT_THAT(answer.body, HasSubstr("configure with -DPITWALL_PAGE=ON"));
  }
}

#ifndef PITWALL_PAGE
TEST(PageRoutes, BuildWithoutPage_PolicyAllowsNothing) {
  EXPECT_TRUE(PageFiles().empty());
  EXPECT_THAT(std::string(PagePolicy()), HasSubstr("default-src 'none'"));
}
#else
TEST(PageRoutes, EmbeddedFiles_AreComplete) {
  const std::span<const PageFile> files = PageFiles();
  ASSERT_FALSE(files.empty());
  EXPECT_THAT(std::string(PagePolicy()), HasSubstr("require-trusted-types-for 'script'"));
  EXPECT_THAT(std::string(PagePolicy()), Not(HasSubstr("unsafe")));
  const http::HttpResponse index = PageRoutes()[0].handler({});
  EXPECT_EQ(index.status, 200);
  size_t named = 0;
  for (const PageFile& file : files) {
    EXPECT_FALSE(file.plain.empty()) << file.path;
    EXPECT_LT(file.brotli.size(), file.plain.size()) << file.path;
    named += index.body.find(file.path) != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(named, 2u) << "the index names a script and a style";
}
#endif

}  // namespace
}  // namespace pitwall::history
