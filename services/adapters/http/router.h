// Selection of the handler of a request, and its authorization: everything about a request that
// needs no socket.
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

// %XX (and '+' as space when `plus_is_space`); nothing when an escape is broken or the result holds
// a NUL.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// Fills path and query of `request` from a request target ("/a%20b?x=1&y"). False: not an absolute
// path, a broken escape, a "." or ".." segment, or more than 100 parameters.
bool ParseTarget(std::string_view target, HttpRequest* request);

// Immutable once made; thread-safe.
class Router {
 public:
  // InvalidArgument: two equal routes, a path without '/', an unknown method.
  static StatusOr<Router> Make(std::vector<HttpRoute> routes);

  struct Match {
    const HttpRoute* route = nullptr;  // null: none for this path and method
    std::string allow;                 // methods that the path has, when only the method is wrong
  };
  Match Find(std::string_view method, std::string_view path) const;

 private:
  std::vector<HttpRoute> routes_;
};

// Who may come in.
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
  // The answer that ends the request, or nothing when it may pass.
  std::optional<Turned> Check(const HttpRequest& request, const HttpRoute& route) const;
  // What the request may do, whatever the route.
  Role RoleOf(const HttpRequest& request) const;

 private:
  // By token or cookie.
  Role ShownRole(const HttpRequest& request) const;
  // Whether the page that sends the request is ours; so is one that tells no Origin, as programs
  // do.
  bool IsOwnOrigin(const HttpRequest& request) const;
  // Whether the Host header names this machine by a loopback name.
  bool NamesLoopback(const HttpRequest& request) const;

  AccessTokens tokens_;
  bool loopback_;
  std::vector<std::string> allowed_hosts_;
  std::vector<std::string> allowed_origins_;
  std::shared_ptr<const CookieSessions> sessions_;
};

}  // namespace pitwall::http
