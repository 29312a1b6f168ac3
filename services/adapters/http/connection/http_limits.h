// Limits on the resources that HTTP clients may use, and the reasons for rejecting clients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::http {

// Limits on sizes and counts for a server's clients.
struct HttpLimits {
  size_t max_header_bytes = 16 * 1024;
  size_t max_body_bytes = 1 << 20;
  size_t max_connections = 256;
  size_t max_connections_per_address = 64;
  // Additional connections beyond both limits. Each of them serves one short request: health,
  // metrics, or an action.
  size_t reserved_connections = 16;
  size_t max_waiting_requests = 64;  // per lane
  size_t max_streams = 128;
  size_t max_streams_per_address = 16;

  // Returns InvalidArgument if a limit is out of range.
  Status Check() const;
};

// Time limits for a connection and its requests.
struct HttpTimeouts {
  int64_t reserved_timeout_ns = 2'000'000'000;   // total time of a request on a reserved connection
  int64_t handler_timeout_ns = 120'000'000'000;  // time after which a request is canceled
  // Interval between checks that a request's client is still connected.
  int64_t watch_interval_ns = 100'000'000;
  int64_t header_timeout_ns = 10'000'000'000;  // first byte to end of the header; TLS handshake
  int64_t body_timeout_ns = 10'000'000'000;    // end of the header to end of the body
  int64_t idle_timeout_ns = 60'000'000'000;    // between requests
  int64_t write_timeout_ns = 30'000'000'000;
  int64_t stream_pause_ns = 100'000'000;  // pause after an empty Pull of a stream
  // Time that the client has to read the last response before the socket closes.
  int64_t linger_ns = 1'000'000'000;

  // Returns InvalidArgument if a time is out of range.
  Status Check() const;
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
  kOverloaded,   // too many requests are waiting
  kStreams,      // too many streams are open
  kWrongOrigin,  // a page on another site requested a change
};
inline constexpr std::array<std::string_view, 12> kRefusalNames = {
    "connections", "address_connections", "slow_header", "slow_body",  "malformed", "too_large",
    "no_token",    "wrong_role",          "wrong_host",  "overloaded", "streams",   "wrong_origin"};

}  // namespace pitwall::http
