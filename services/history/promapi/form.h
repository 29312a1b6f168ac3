// Parameters of a request from its URL and, for a POST, from its body
// (application/x-www-form-urlencoded), which takes precedence.
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
  // InvalidArgument: an invalid escape, or more than 1,000 parameters.
  static StatusOr<Form> Of(const http::HttpRequest& request);

  // Returns the first value; "" if absent.
  std::string_view Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// Error messages equal those of Prometheus.

// Parses seconds since 1970 or RFC 3339 into nanoseconds, rounded to whole milliseconds. Times
// outside the supported range are clamped.
StatusOr<int64_t> ParseInstant(std::string_view text);
// Parses seconds, or 1h30m, into nanoseconds.
StatusOr<int64_t> ParseLength(std::string_view text);
// Parses an integer; 0, for "" and "0", means no limit.
StatusOr<size_t> ParseLimit(std::string_view text);

}  // namespace pitwall::promapi
