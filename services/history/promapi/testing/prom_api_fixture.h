// Test fixture that calls the routes on a given history, without a socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/http/router.h"
#include "services/base/check.h"
#include "services/history/promapi/prom_routes.h"
#include "services/history/promapi/testing/history_fixture.h"

namespace pitwall::promapi {

class ApiForTest {
 public:
  ApiForTest(const history::History* history, const Clock* clock, RuleGroupSource rules = {},
             PromOptions options = {})
      : router_(
            *http::Router::Make(PromRoutes(history, clock, std::move(rules), std::move(options)))) {
  }

  http::HttpResponse Get(std::string_view target) const { return Send("GET", target, ""); }
  // Sends a POST with a form-encoded body.
  http::HttpResponse Post(std::string_view target, std::string_view body) const {
    return Send("POST", target, body);
  }
  http::HttpResponse Send(std::string_view method, std::string_view target,
                          std::string_view body) const {
    http::HttpRequest request;
    request.method = method;
    PITWALL_CHECK(http::ParseTarget(target, &request));
    request.body = body;
    if (method == "POST")
      request.headers.emplace_back("content-type", "application/x-www-form-urlencoded");
    const auto match = router_.Find(method, request.path);
    if (match.route == nullptr) return http::HttpResponse::Text(404, "no route");
    return match.route->handler(request);
  }

 private:
  http::Router router_;
};

// Percent-encodes all characters except letters, digits, and some punctuation.
inline std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out += c;
      continue;
    }
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

// Encodes pairs as a=b&c=d.
inline std::string FormBody(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) {
    if (!out.empty()) out += '&';
    out += PercentEncoded(key) + "=" + PercentEncoded(value);
  }
  return out;
}

}  // namespace pitwall::promapi
