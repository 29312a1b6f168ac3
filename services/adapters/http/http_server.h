// HTTP/1.1 server for metrics, health checks, the JSON API, and the web page, based on Boost.Beast.
//
// One thread does all I/O, and each lane has a few threads that run handlers. All resources are
// limited: header and body size, the time in which header and body must arrive, idle time,
// connections in total and per address, and waiting requests per lane (503 above the limit).
// Queries cannot use the threads of health checks and actions or the reserved connections, so
// health checks and actions respond even if queries do not.
//
// A request is canceled if its client closes the connection or its time limit expires. A canceled
// read-only request is not started, and a running handler can observe the cancellation
// (services/base/cancellation.h). Actions are never canceled. The default address is loopback. On
// other addresses, a token is required (Authorization: Bearer) except on open routes. On a loopback
// listener without a token, the Host header must name loopback, so that a web page in a browser
// cannot reach the server by DNS rebinding.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/http/cookie_sessions.h"
#include "services/base/listen_address.h"
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::http {

struct HttpRequest {
  std::string method;
  std::string path;                                          // without the query, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in the order of the request
  std::vector<std::pair<std::string, std::string>> headers;  // with lowercase names
  std::string body;
  std::string peer;         // address of the client
  Role role = Role::kNone;  // role granted to the request

  std::string_view Query(std::string_view name) const;   // returns the first value, or "" if absent
  std::string_view Header(std::string_view name) const;  // `name` must be lowercase
};

// Response body that is produced over time, for example server-sent events. Belongs to one request.
// Only the I/O thread uses the object, and calls Pull repeatedly while the client accepts data. The
// server buffers the bytes of at most one Pull per client.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  // Returns the next bytes, or "" if none are available yet. Must not block because all connections
  // share the thread.
  virtual std::string Pull() = 0;
  // Returns true if the body ends after the bytes of the last Pull.
  virtual bool over() const = 0;
  // Returns the last bytes to send when the server stops.
  virtual std::string Farewell() { return {}; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::shared_ptr<ResponseStream> stream;  // if not null, replaces `body`
  std::vector<std::pair<std::string, std::string>> headers;

  static HttpResponse Text(int status, std::string_view body);
  static HttpResponse Json(std::string body);
};

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
  std::string client_ca_file;  // if not empty, clients need a certificate signed by it
  bool empty() const { return certificate_file.empty(); }
};

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // address:port or [v6]:port; port 0 selects any free port
  // A token is required beyond loopback. Routes with role kAct require the act token on every
  // address.
  AccessTokens tokens;
  TlsFiles tls;  // reloaded for new connections if the files change
  // Host names allowed in addition to loopback names, for listeners without a token.
  std::vector<std::string> allowed_hosts;
  // Origins (such as "https://pitwall.example") that may send changes, in addition to the request's
  // own Host.
  std::vector<std::string> allowed_origins;
  std::shared_ptr<const CookieSessions> sessions;  // if null, cookies grant no access
  size_t max_header_bytes = 16 * 1024;
  size_t max_body_bytes = 1 << 20;
  size_t max_connections = 256;
  size_t max_connections_per_address = 64;
  // Additional connections beyond both limits. Each of them serves one short request: health,
  // metrics, or an action.
  size_t reserved_connections = 16;
  int64_t reserved_timeout_ns = 2'000'000'000;  // total time of a request on a reserved connection
  size_t max_waiting_requests = 64;             // per lane
  size_t max_streams = 128;
  size_t max_streams_per_address = 16;
  int handler_threads = 2;  // for queries
  int action_threads = 2;
  int health_threads = 2;
  int64_t handler_timeout_ns = 120'000'000'000;  // time after which a request is canceled
  // Interval for checking that the client of a request is connected.
  int64_t watch_interval_ns = 100'000'000;
  int64_t header_timeout_ns = 10'000'000'000;  // first byte to end of the header; TLS handshake
  int64_t body_timeout_ns = 10'000'000'000;    // end of the header to end of the body
  int64_t idle_timeout_ns = 60'000'000'000;    // between requests
  int64_t write_timeout_ns = 30'000'000'000;
  int64_t stream_pause_ns = 100'000'000;  // pause after an empty Pull of a stream
  // Time for the client to read the last response before the socket closes.
  int64_t linger_ns = 1'000'000'000;
};

// Reason for rejecting a connection or request.
enum class Refusal {
  kConnections,         // too many in total
  kAddressConnections,  // too many from one address
  kSlowHeader,
  kSlowBody,
  kMalformed,
  kTooLarge,
  kNoToken,    // missing or wrong token
  kWrongRole,  // kAct is required, but the token only grants kView
  kWrongHost,
  kOverloaded,
  kStreams,      // too many requests are waiting
  kWrongOrigin,  // a page from another site requests a change
};
inline constexpr std::array<std::string_view, 12> kRefusalNames = {
    "connections", "address_connections", "slow_header", "slow_body",  "malformed", "too_large",
    "no_token",    "wrong_role",          "wrong_host",  "overloaded", "streams",   "wrong_origin"};

struct HttpServerCounters {
  std::array<self_metrics::Counter, kRefusalNames.size()> refused;  // by Refusal
  self_metrics::Counter connections;                                // accepted connections
  self_metrics::Counter connections_refused;                        // connections above the limit
  self_metrics::Counter requests;
  self_metrics::Counter bad_requests;  // malformed, too large, or too slow requests
  self_metrics::Counter overloaded;    // requests rejected with 503
  self_metrics::Counter streams;       // started streams
};

class HttpServer {
 public:
  // Starts listening and serving. Returns InvalidArgument for an invalid address, a duplicate
  // route, or a missing token beyond loopback. Returns Unavailable if the address is in use.
  static StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                     std::vector<HttpRoute> routes);
  virtual ~HttpServer() = default;  // stops the server
  virtual uint16_t port() const = 0;
  virtual std::string address() const = 0;  // "127.0.0.1:9870"
  // Closes the listener, waits up to grace_ns for running requests, and then closes all
  // connections. Idempotent.
  virtual void Stop(int64_t grace_ns = 2'000'000'000) = 0;
  virtual const HttpServerCounters& counters() const = 0;
};

}  // namespace pitwall::http
