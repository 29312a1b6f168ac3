// Which handler a request belongs to, and whether it may have it: everything about a request that
// needs no socket.
#pragma once

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
  Gate(AccessTokens tokens, bool loopback, std::vector<std::string> allowed_hosts)
      : tokens_(std::move(tokens)), loopback_(loopback), allowed_hosts_(std::move(allowed_hosts)) {}

  // The answer that ends the request, or nothing when it may pass.
  std::optional<HttpResponse> Check(const HttpRequest& request, const HttpRoute& route) const;

 private:
  Role RoleOf(const HttpRequest& request) const;
  // Whether the Host header names this machine by a loopback name.
  bool NamesLoopback(const HttpRequest& request) const;

  AccessTokens tokens_;
  bool loopback_;
  std::vector<std::string> allowed_hosts_;
};

}  // namespace pitwall::http
