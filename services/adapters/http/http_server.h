// HTTP/1.1 server for metrics, health checks, the JSON API, and the web page, based on Boost.Beast.
//
// One thread does all I/O, and each lane has a few threads that run handlers. All resources are
// limited: header and body size, the time allowed for the header and body to arrive, idle time,
// connections in total and per address, and waiting requests per lane (503 above the limit).
// Queries cannot use the threads and connections reserved for health checks and actions, so these
// respond even if queries do not.
//
// A request is canceled if its client closes the connection or its time limit expires. A canceled
// read-only request is not started, and a running handler can observe the cancellation
// (services/base/cancellation.h). Actions are never canceled. The default address is loopback. On
// other addresses, a token is required (Authorization: Bearer) except on open routes. On a loopback
// listener without a token, the Host header must name loopback, so that a web page cannot reach the
// server through DNS rebinding.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/http/connection/http_limits.h"
#include "services/adapters/http/connection/http_message.h"
#include "services/adapters/http/cookie_sessions.h"
#include "services/base/listen_address.h"
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::http {

// Handler of a route. Called concurrently on several handler threads. The handler must return; an
// exception results in status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Group of routes with its own threads and queue. Requests in one lane never wait for requests in
// another lane.
enum class Lane { kQueries, kActions, kHealth };
inline constexpr size_t kLanes = 3;

struct HttpRoute {
  std::string method;  // GET also serves HEAD
  std::string path;    // exact path, or a prefix ending in "/*"; the longest match wins
  HttpHandler handler;
  bool open = false;        // requires no token: /metrics, /healthz, /readyz
  Role role = Role::kView;  // required unless open; kAct includes kView
  Lane lane = Lane::kQueries;
};

struct TlsFiles {
  std::string certificate_file;  // PEM chain
  std::string key_file;
  std::string client_ca_file;  // if not empty, clients need a certificate signed by this CA
  bool empty() const { return certificate_file.empty(); }
};

// Access control for a server.
struct HttpAccess {
  // A token is required on non-loopback addresses. Routes with the role kAct require the act token
  // on every address.
  AccessTokens tokens;
  // Host names allowed in addition to loopback names, for listeners without a token.
  std::vector<std::string> allowed_hosts;
  // Origins (such as "https://pitwall.example") that may request changes, in addition to the
  // request's own Host.
  std::vector<std::string> allowed_origins;
  std::shared_ptr<const CookieSessions> sessions;  // if null, cookies grant no access
};

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // address:port or [v6]:port; port 0 selects any free port
  TlsFiles tls;                        // reloaded for new connections if the files change
  HttpAccess access;
  HttpLimits limits;
  HttpTimeouts timeouts;
  int handler_threads = 2;  // for queries
  int action_threads = 2;
  int health_threads = 2;
};

struct HttpServerCounters {
  std::array<self_metrics::Counter, kRefusalNames.size()> refused;  // by Refusal
  self_metrics::Counter connections;                                // accepted connections
  self_metrics::Counter connections_refused;                        // connections above the limit
  self_metrics::Counter requests;
  self_metrics::Counter bad_requests;  // malformed, too large, or too slow requests
  self_metrics::Counter overloaded;    // requests rejected with 503
  self_metrics::Counter streams;       // started streams

  void Count(Refusal reason) { refused[static_cast<size_t>(reason)].Add(); }
};

class HttpServer {
 public:
  // Starts listening and serving. Returns InvalidArgument for an invalid address, a duplicate
  // route, or a missing token on a non-loopback address. Returns Unavailable if the address is in
  // use. The exposition is borrowed and may be null.
  static StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpServerOptions options, std::vector<HttpRoute> routes,
      self_metrics::Exposition* exposition = nullptr);
  virtual ~HttpServer() = default;  // stops the server
  virtual uint16_t port() const = 0;
  virtual std::string address() const = 0;  // "127.0.0.1:9870"
  // Closes the listener, waits up to grace_ns for running requests, and then closes all
  // connections. Idempotent.
  virtual void Stop(int64_t grace_ns = 2'000'000'000) = 0;
  virtual const HttpServerCounters& counters() const = 0;
};

}  // namespace pitwall::http
