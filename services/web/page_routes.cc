#include "services/web/page_routes.h"

#include <algorithm>
#include <string>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

using http::HttpRequest;
using http::HttpResponse;

constexpr std::string_view kIndex = "/index.html";

bool IsListed(std::string_view list, std::string_view wanted, std::string_view separators) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    const size_t begin = item.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    item.remove_prefix(begin);
    const std::string_view name = item.substr(0, item.find_first_of(separators));
    // "br;q=0" means that the client rejects the coding.
    const size_t weight = item.find("q=0");
    const bool refused = weight != std::string_view::npos &&
                         item.find_first_of("123456789", weight + 3) == std::string_view::npos;
    if (name == wanted && !refused) return true;
  }
  return false;
}

void AddPolicy(std::string_view policy, HttpResponse* response) {
  response->headers.emplace_back("Content-Security-Policy", policy);
  response->headers.emplace_back("Referrer-Policy", "same-origin");
  response->headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
}

HttpResponse Send(const PageFile& file, std::string_view policy, const HttpRequest& request) {
  HttpResponse response;
  const bool index = file.path == kIndex;
  // Each coding has its own entity tag.
  const std::string_view accepted = request.Header("accept-encoding");
  std::string_view coding;
  std::string_view body = file.plain;
  if (!file.brotli.empty() && IsListed(accepted, "br", "; \t")) {
    coding = "br";
    body = file.brotli;
  } else if (!file.gzip.empty() && IsListed(accepted, "gzip", "; \t")) {
    coding = "gzip";
    body = file.gzip;
  }
  std::string tag(file.tag);
  if (!coding.empty()) tag.insert(tag.size() - 1, Cat("-", coding));
  response.content_type = file.type;
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control",
                                index ? "no-cache" : "public, max-age=31536000, immutable");
  AddPolicy(policy, &response);
  const std::string_view known = request.Header("if-none-match");
  if (known == "*" || IsListed(known, tag, " \t") || IsListed(known, Cat("W/", tag), " \t")) {
    response.status = 304;
    return response;
  }
  if (!coding.empty()) response.headers.emplace_back("Content-Encoding", coding);
  response.body = body;
  return response;
}

HttpResponse BuiltWithoutPage(std::string_view policy) {
  HttpResponse response = HttpResponse::Text(
      503,
      "page: this server was built without the web page (-DPITWALL_PAGE=OFF); configure with "
      "-DPITWALL_PAGE=ON and build again. The API (/api/pitwall/v1/jobs) and the command line "
      "(pitwall jobs list) work.\n");
  AddPolicy(policy, &response);
  return response;
}

const PageFile* Find(std::span<const PageFile> files, std::string_view path) {
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const PageFile& file) { return file.path == path; });
  return at == files.end() ? nullptr : &*at;
}

}  // namespace

std::vector<http::HttpRoute> PageRoutesOf(std::span<const PageFile> files,
                                          std::string_view policy) {
  const auto index = [files, policy](const HttpRequest& request) {
    const PageFile* file = Find(files, kIndex);
    return file == nullptr ? BuiltWithoutPage(policy) : Send(*file, policy, request);
  };
  const auto asset = [files, policy](const HttpRequest& request) {
    const PageFile* file = Find(files, request.path);
    if (file != nullptr) return Send(*file, policy, request);
    if (files.empty()) return BuiltWithoutPage(policy);
    HttpResponse response = HttpResponse::Text(
        404, "page: no such file, the version of the server has changed; reload the page\n");
    AddPolicy(policy, &response);
    return response;
  };
  std::vector<http::HttpRoute> routes;
  for (const char* path : {"/", "/jobs", "/jobs/*"}) routes.push_back({"GET", path, index, true});
  routes.push_back({"GET", "/assets/*", asset, true});
  return routes;
}

std::vector<http::HttpRoute> PageRoutes() { return PageRoutesOf(PageFiles(), PagePolicy()); }

}  // namespace pitwall::history
