// The parameters of a request, from its URL and, in a POST, from its body
// (application/x-www-form-urlencoded), which come first.
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
  // InvalidArgument: a broken escape, or more than 1,000 parameters.
  static StatusOr<Form> Of(const http::HttpRequest& request);

  // The first value, "" when absent.
  std::string_view Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// Messages are those of Prometheus.

// Seconds since 1970 or RFC 3339; in nanoseconds, rounded to whole milliseconds. What lies beyond
// positions becomes the first or the last of them.
StatusOr<int64_t> ParseInstant(std::string_view text);
// Seconds, or 1h30m; in nanoseconds.
StatusOr<int64_t> ParseLength(std::string_view text);
// A whole number; "" and "0": no limit, which is 0.
StatusOr<size_t> ParseLimit(std::string_view text);

}  // namespace pitwall::promapi
