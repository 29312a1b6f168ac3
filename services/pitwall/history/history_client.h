// The history's HTTP API, as the commands for people ask it (docs/api.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::history_client {

inline constexpr std::string_view kRoutes = "/api/pitwall/v1";
using Parameters = std::vector<std::pair<std::string, std::string>>;
using Json = nlohmann::ordered_json;
using JsonFault = nlohmann::ordered_json::exception;  // an answer of another form

// Thread-safe. Errors name the URL or are the server's own words: InvalidArgument (400),
// PermissionDenied (401, 403), NotFound (404), FailedPrecondition (409), OutOfRange (410),
// ResourceExhausted (422, or an answer that is too long), Unavailable (everything else).
class Client {
 public:
  // `url`: scheme, host and port, and the prefix of a proxy where there is one. `token`: "" for
  // none. The transport is borrowed.
  Client(std::string url, std::string token, HttpTransport* transport);

  // `path` begins with a slash.
  StatusOr<Json> Get(std::string_view path, const Parameters& parameters) const {
    return Call("GET", path, parameters);
  }
  // What the server answers, as it is.
  StatusOr<std::string> GetText(std::string_view path, const Parameters& parameters) const {
    return Exchange("GET", path, parameters, "*/*");
  }
  StatusOr<Json> Call(std::string_view method, std::string_view path,
                      const Parameters& parameters) const;
  // POST with a body in JSON.
  StatusOr<Json> Post(std::string_view path, std::string_view body) const;

 private:
  StatusOr<std::string> Exchange(std::string_view method, std::string_view path,
                                 const Parameters& parameters, std::string_view accept,
                                 std::string_view body = {}) const;
  StatusOr<Json> Parsed(StatusOr<std::string> text, std::string_view path) const;

  std::string url_;
  const std::string token_;
  HttpTransport* const transport_;
};

}  // namespace pitwall::history_client
