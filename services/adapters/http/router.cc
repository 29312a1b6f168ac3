#include "services/adapters/http/router.h"

#include <algorithm>
#include <tuple>

#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns the host in "host", "host:port", "[v6]", or "[v6]:port".
std::string_view HostOnly(std::string_view host) {
  if (StartsWith(host, "[")) {
    const size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

// Returns true if the method is read-only.
bool IsSafe(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

bool ParseTarget(std::string_view target, HttpRequest* request) {
  if (!StartsWith(target, "/")) return false;
  const size_t question = target.find('?');
  std::optional<std::string> path = PercentDecode(target.substr(0, question), false);
  if (!path) return false;
  for (const std::string_view segment : Split(*path, '/')) {
    if (segment == "." || segment == "..") return false;
  }
  request->path = std::move(*path);
  if (question == std::string_view::npos) return true;
  for (const std::string_view pair : Split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    if (request->query.size() == 100) return false;
    const size_t equals = pair.find('=');
    std::optional<std::string> name = PercentDecode(pair.substr(0, equals), true);
    std::optional<std::string> value = PercentDecode(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    request->query.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

StatusOr<Router> Router::Make(std::vector<HttpRoute> routes) {
  for (const HttpRoute& route : routes) {
    if (!StartsWith(route.path, "/")) {
      return InvalidArgument(Cat("route ", Quote(route.path), ": path must start with /"));
    }
    const bool upper =
        !route.method.empty() && std::all_of(route.method.begin(), route.method.end(),
                                             [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!upper)
      return InvalidArgument(Cat("route ", route.path, ": invalid method ", Quote(route.method)));
    if (!route.handler) return InvalidArgument(Cat("route ", route.path, ": handler must be set"));
  }
  // Routes are sorted so that the first match is the correct one: exact paths before prefixes, and
  // longer paths first.
  std::stable_sort(routes.begin(), routes.end(), [](const HttpRoute& a, const HttpRoute& b) {
    const bool prefix_a = EndsWith(a.path, "/*"), prefix_b = EndsWith(b.path, "/*");
    if (prefix_a != prefix_b) return prefix_b;
    if (a.path.size() != b.path.size()) return a.path.size() > b.path.size();
    return std::tie(a.path, a.method) < std::tie(b.path, b.method);
  });
  for (size_t i = 1; i < routes.size(); ++i) {
    if (routes[i].path == routes[i - 1].path && routes[i].method == routes[i - 1].method) {
      return InvalidArgument(Cat("duplicate route ", routes[i].method, " ", routes[i].path));
    }
  }
  Router router;
  router.routes_ = std::move(routes);
  return router;
}

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  Match match;
  std::string_view matched;
  for (const HttpRoute& route : routes_) {
    const std::string_view pattern = route.path;
    const bool fits = EndsWith(pattern, "/*")
                          ? StartsWith(path, pattern.substr(0, pattern.size() - 1))
                          : path == pattern;
    if (!fits || (!matched.empty() && pattern != matched)) continue;
    matched = pattern;
    if (route.method == method) {
      match.route = &route;
      match.allow.clear();
      return match;
    }
    CatTo(match.allow, match.allow.empty() ? "" : ", ",
          route.method == "GET" ? "GET, HEAD" : route.method);
  }
  return match;
}

Role Gate::ShownRole(const HttpRequest& request) const {
  Role role = RoleOfAuthorization(tokens_, request.Header("authorization"));
  const std::string_view cookies = request.Header("cookie");
  for (std::string_view cookie : Split(cookies, ';')) {
    cookie = Trim(cookie);
    // Browsers also send cookies with requests that other sites trigger, so a cookie with the token
    // grants only view access.
    if (StartsWith(cookie, "pitwall_token=") &&
        RoleOfToken(tokens_, cookie.substr(14)) != Role::kNone)
      role = std::max(role, Role::kView);
  }
  // A session may perform actions only if the browser sends the Origin header.
  if (sessions_ != nullptr && (IsSafe(request) || !request.Header("origin").empty())) {
    if (const auto session = sessions_->Find(SessionCookieOf(cookies)))
      role = std::max(role, session->role);
  }
  return role;
}

Role Gate::RoleOf(const HttpRequest& request) const {
  const Role role = ShownRole(request);
  // On a non-loopback address, the server starts without a token only if all routes are open.
  return role == Role::kNone && tokens_.view.empty() && loopback_ ? Role::kView : role;
}

bool Gate::IsOwnOrigin(const HttpRequest& request) const {
  const std::string_view origin = request.Header("origin");
  if (origin.empty()) return true;
  const size_t scheme = origin.find("://");
  const std::string_view authority =
      scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  };
  const std::string_view host = request.Header("host");
  return (!authority.empty() &&
          std::equal(authority.begin(), authority.end(), host.begin(), host.end(), same)) ||
         std::find(allowed_origins_.begin(), allowed_origins_.end(), origin) !=
             allowed_origins_.end();
}

bool Gate::NamesLoopback(const HttpRequest& request) const {
  const std::string_view host = HostOnly(request.Header("host"));
  if (StartsWith(host, "127.")) return host.find_first_not_of("0123456789.") == host.npos;
  return host == "localhost" || host == "::1" || host.empty() ||
         std::find(allowed_hosts_.begin(), allowed_hosts_.end(), host) != allowed_hosts_.end();
}

std::optional<Gate::Turned> Gate::Check(const HttpRequest& request, const HttpRoute& route) const {
  const Role shown = ShownRole(request);
  if (tokens_.view.empty() && loopback_ && shown == Role::kNone && !NamesLoopback(request)) {
    return Turned{Refusal::kWrongHost,
                  HttpResponse::Text(421, "this listener accepts only loopback host names\n")};
  }
  if (!IsSafe(request) && !IsOwnOrigin(request)) {
    return Turned{Refusal::kWrongOrigin,
                  HttpResponse::Text(403, "the Origin header does not match this server\n")};
  }
  if (route.open) return std::nullopt;
  const Role role = RoleOf(request);
  if (role >= route.role && role != Role::kNone) return std::nullopt;
  if (route.role == Role::kAct && (shown == Role::kView || tokens_.act.empty())) {
    return Turned{Refusal::kWrongRole,
                  HttpResponse::Text(403, tokens_.act.empty()
                                              ? "a token with the role act is required, but none "
                                                "is configured; set http.act_token_file\n"
                                              : "a token with the role act is required\n")};
  }
  HttpResponse response =
      HttpResponse::Text(401, "a token is required; send Authorization: Bearer <token>\n");
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"pitwall\"");
  return Turned{Refusal::kNoToken, std::move(response)};
}

}  // namespace pitwall::http
