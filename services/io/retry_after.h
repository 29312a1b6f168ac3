// Value of the HTTP header Retry-After.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/io/http_transport.h"

namespace pitwall {

// Parses an HTTP date in each of its three forms (RFC 9110, 5.6.7) as Unix nanoseconds.
std::optional<int64_t> ParseHttpDate(std::string_view text);

// Parses seconds or a date as nanoseconds from `wall_ns`, at most an hour; 0 if it is invalid or in
// the past.
int64_t ParseRetryAfter(std::string_view value, int64_t wall_ns);

// Returns the Retry-After of a reply in nanoseconds; dates are relative to the reply's Date, so
// that the clocks of client and server may differ. 0 without one.
int64_t RetryAfterOf(const HttpReply& reply);

// Returns true if the same request may succeed later: 408, 425, 429, and 5xx except 501 and 505.
bool IsRetriable(int http_status);

}  // namespace pitwall
