// An HTTP/1.1 server for what a service shows: metrics, health, the JSON API, the page. Over
// Boost.Beast.
//
// One thread does all I/O; a few threads of each lane run handlers. Everything is bounded: header
// and body size, times for header and body to arrive, idle time, connections in all and of one
// address, requests of a lane that wait for a thread (503 beyond). Queries can take neither the
// threads of health checks and actions nor the reserved connections, so both answer while queries
// do not.
//
// A request whose client closes the connection, or whose time is up, is canceled: it does not start
// if it only reads, and its handler sees it (services/base/cancellation.h). Actions are not cut
// short. Loopback by default. On
// another address a token is required (Authorization: Bearer) except on open routes. On a loopback
// listener without a token the Host header must name loopback, so that a page in a browser cannot
// reach it by DNS rebinding.
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
  std::string path;                                          // without query, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer;         // address of the client
  Role role = Role::kNone;  // what it may do

  std::string_view Query(std::string_view name) const;   // first value, "" when absent
  std::string_view Header(std::string_view name) const;  // name in lower case
};

// A body that goes on as things happen: server-sent events. One request's; used by the I/O thread
// alone, which asks again and again for as long as the client takes what it gets. Nothing is held
// for a client but the bytes of one Pull.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  // The next bytes, "" when there is nothing yet. Must not block: all connections wait for it.
  virtual std::string Pull() = 0;
  // After the bytes of the last Pull the body is over.
  virtual bool over() const = 0;
  // Last bytes before the server stops.
  virtual std::string Farewell() { return {}; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::shared_ptr<ResponseStream> stream;  // not null: in place of `body`
  std::vector<std::pair<std::string, std::string>> headers;

  static HttpResponse Text(int status, std::string_view body);
  static HttpResponse Json(std::string body);
};

// Called on a handler thread; several at a time. Must return; an exception out of it becomes a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Requests of one lane never wait for those of another.
enum class Lane { kQueries, kActions, kHealth };
inline constexpr size_t kLanes = 3;

struct HttpRoute {
  std::string method;  // GET serves HEAD too
  std::string path;    // exact, or a prefix when it ends with "/*"; the longest match wins
  HttpHandler handler;
  bool open = false;        // needs no token: /metrics, /healthz, /readyz
  Role role = Role::kView;  // what other routes need; who may act may view too
  Lane lane = Lane::kQueries;
};

struct TlsFiles {
  std::string certificate_file;  // PEM chain
  std::string key_file;
  std::string client_ca_file;  // not empty: clients must show a certificate of it
  bool empty() const { return certificate_file.empty(); }
};

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // address:port or [v6]:port; port 0: any free one
  // One is required beyond loopback. A route that acts needs the token of that role everywhere.
  AccessTokens tokens;
  TlsFiles tls;  // read again when they change, for connections made after that
  std::vector<std::string> allowed_hosts;  // beyond loopback names, for listeners without a token
  // Origins ("https://pitwall.example") beside the request's own Host, for what changes something.
  std::vector<std::string> allowed_origins;
  std::shared_ptr<const CookieSessions> sessions;  // null: no cookie lets anybody in
  size_t max_header_bytes = 16 * 1024;
  size_t max_body_bytes = 1 << 20;
  size_t max_connections = 256;
  size_t max_connections_per_address = 64;
  // Connections beyond both limits, for one short request each: health, metrics, or an action.
  size_t reserved_connections = 16;
  int64_t reserved_timeout_ns = 2'000'000'000;  // for the whole request on one of them
  size_t max_waiting_requests = 64;             // of one lane
  size_t max_streams = 128;
  size_t max_streams_per_address = 16;
  int handler_threads = 2;  // of queries
  int action_threads = 2;
  int health_threads = 2;
  int64_t handler_timeout_ns = 120'000'000'000;  // then a request is canceled
  int64_t watch_interval_ns = 100'000'000;       // between looks at the client of a running request
  int64_t header_timeout_ns = 10'000'000'000;    // first byte to end of the header; TLS handshake
  int64_t body_timeout_ns = 10'000'000'000;      // end of the header to end of the body
  int64_t idle_timeout_ns = 60'000'000'000;      // between requests
  int64_t write_timeout_ns = 30'000'000'000;
  int64_t stream_pause_ns = 100'000'000;  // between pulls of a stream that had nothing
  int64_t linger_ns =
      1'000'000'000;  // for the peer to take the last answer before the socket closes
};

// Why connections and requests are turned away.
enum class Refusal {
  kConnections,         // too many
  kAddressConnections,  // too many of one address
  kSlowHeader,
  kSlowBody,
  kMalformed,
  kTooLarge,
  kNoToken,    // or a wrong one
  kWrongRole,  // view where act is needed
  kWrongHost,
  kOverloaded,
  kStreams,      // too many
  kWrongOrigin,  // another site's page asks for a change
};
inline constexpr std::array<std::string_view, 12> kRefusalNames = {
    "connections", "address_connections", "slow_header", "slow_body",  "malformed", "too_large",
    "no_token",    "wrong_role",          "wrong_host",  "overloaded", "streams",   "wrong_origin"};

struct HttpServerCounters {
  std::array<self_metrics::Counter, kRefusalNames.size()> refused;  // by Refusal
  self_metrics::Counter connections;                                // accepted
  self_metrics::Counter connections_refused;                        // over the limit
  self_metrics::Counter requests;
  self_metrics::Counter bad_requests;  // malformed, too large, too slow
  self_metrics::Counter overloaded;    // answered 503
  self_metrics::Counter streams;       // begun
};

class HttpServer {
 public:
  // Listens when it returns. InvalidArgument: bad address, two equal routes, no token beyond
  // loopback; Unavailable: the address is taken.
  static StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                     std::vector<HttpRoute> routes);
  virtual ~HttpServer() = default;  // stops
  virtual uint16_t port() const = 0;
  virtual std::string address() const = 0;  // "127.0.0.1:9870"
  // Takes no new connection, lets requests that have begun finish for up to grace_ns, then closes.
  // Idempotent.
  virtual void Stop(int64_t grace_ns = 2'000'000'000) = 0;
  virtual const HttpServerCounters& counters() const = 0;
};

}  // namespace pitwall::http
