// Request routing and authorization. Independent of sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"

namespace pitwall::http {

// Decodes %XX (and '+' as a space if `plus_is_space`). Returns nothing if an escape is malformed or
// the result contains a NUL character.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// Sets the path and query of `request` from a request target ("/a%20b?x=1&y"). Returns false for a
// path that is not absolute, a malformed escape, a "." or ".." segment, or more than 100
// parameters.
bool ParseTarget(std::string_view target, HttpRequest* request);

// Immutable and thread-safe.
class Router {
 public:
  // Returns InvalidArgument for a duplicate route, a path without a leading '/', an invalid method,
  // or a missing handler.
  static StatusOr<Router> Make(std::vector<HttpRoute> routes);

  struct Match {
    const HttpRoute* route = nullptr;  // null if no route has this path and method
    std::string allow;                 // allowed methods if only the method does not match
  };
  Match Find(std::string_view method, std::string_view path) const;

 private:
  std::vector<HttpRoute> routes_;
};

// Request authorization.
class Gate {
 public:
  Gate(AccessTokens tokens, bool loopback, std::vector<std::string> allowed_hosts,
       std::vector<std::string> allowed_origins = {},
       std::shared_ptr<const CookieSessions> sessions = nullptr)
      : tokens_(std::move(tokens)),
        loopback_(loopback),
        allowed_hosts_(std::move(allowed_hosts)),
        allowed_origins_(std::move(allowed_origins)),
        sessions_(std::move(sessions)) {}

  struct Turned {
    Refusal reason = Refusal::kNoToken;
    HttpResponse response;
  };
  // Returns the rejection response, or nothing if the request is allowed.
  std::optional<Turned> Check(const HttpRequest& request, const HttpRoute& route) const;
  // Returns the role granted to the request, regardless of the route.
  Role RoleOf(const HttpRequest& request) const;

 private:
  // Returns the role granted by the token or cookie in the request.
  Role ShownRole(const HttpRequest& request) const;
  // Returns true if the Origin header matches this server or is missing, as in requests that do not
  // come from a browser.
  bool IsOwnOrigin(const HttpRequest& request) const;
  // Returns true if the Host header is a loopback or allowed name.
  bool NamesLoopback(const HttpRequest& request) const;

  AccessTokens tokens_;
  bool loopback_;
  std::vector<std::string> allowed_hosts_;
  std::vector<std::string> allowed_origins_;
  std::shared_ptr<const CookieSessions> sessions_;
};

}  // namespace pitwall::http
