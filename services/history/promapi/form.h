// Request parameters from the URL and, for a POST, from the body
// (application/x-www-form-urlencoded). The body takes precedence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"

namespace pitwall::promapi {

class Form {
 public:
  // Parses the parameters. Returns InvalidArgument for an invalid escape or more than 1,000
  // parameters.
  static StatusOr<Form> Of(const http::HttpRequest& request);

  // Returns the first value, or "" if the parameter is absent.
  std::string_view Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// The error messages from these functions match Prometheus's messages.

// Parses seconds since 1970 or an RFC 3339 time into nanoseconds, rounded to whole milliseconds.
// Times outside the supported range are clamped.
StatusOr<int64_t> ParseInstant(std::string_view text);
// Parses a duration, in seconds or in a form like 1h30m, into nanoseconds.
StatusOr<int64_t> ParseLength(std::string_view text);
// Parses an integer. Returns 0 (no limit) for "" and "0".
StatusOr<size_t> ParseLimit(std::string_view text);

}  // namespace pitwall::promapi
