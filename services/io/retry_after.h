// Value of the Retry-After HTTP header.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/base/time.h"
#include "services/io/http_transport.h"

namespace pitwall {

// Parses an HTTP date in any of its three forms (RFC 9110, 5.6.7).
std::optional<EventTime> ParseHttpDate(std::string_view text);

// Parses a number of seconds or a date. Returns the delay from `wall`, at most one hour, or zero if
// the value is invalid or in the past.
Duration ParseRetryAfter(std::string_view value, EventTime wall);

// Returns the Retry-After delay of a response, or zero if the header is missing. Dates are relative
// to the response's Date header, so the client's and server's clocks may differ.
Duration RetryAfterOf(const HttpReply& reply);

// Returns true if the same request may succeed later: 408, 425, 429, and 5xx except 501 and 505.
bool IsRetriable(int http_status);

}  // namespace pitwall
