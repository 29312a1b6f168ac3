#include "services/adapters/http/connection/http_limits.h"

namespace pitwall::http {
namespace {

Status OutOfRange() { return InvalidArgument("an HTTP limit is out of range"); }

}  // namespace

Status HttpLimits::Check() const {
  if (max_header_bytes < 256 || max_header_bytes > (1 << 20) || max_connections == 0 ||
      max_connections_per_address == 0 || max_waiting_requests == 0) {
    return OutOfRange();
  }
  return OkStatus();
}

Status HttpTimeouts::Check() const {
  if (header_timeout_ns <= 0 || body_timeout_ns <= 0 || idle_timeout_ns <= 0 ||
      write_timeout_ns <= 0 || stream_pause_ns <= 0 || watch_interval_ns <= 0 ||
      handler_timeout_ns <= 0 || reserved_timeout_ns <= 0) {
    return OutOfRange();
  }
  return OkStatus();
}

}  // namespace pitwall::http
