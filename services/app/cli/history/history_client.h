// Client for the history's HTTP API (docs/api.md).
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
// Thrown if a response has an unexpected format.
using JsonFault = nlohmann::ordered_json::exception;

// Client for one server. Errors contain the URL or the server's message. The codes are
// InvalidArgument (400), PermissionDenied (401, 403), NotFound (404), FailedPrecondition (409),
// OutOfRange (410), ResourceExhausted (422, or an oversized response), and Unavailable (all other
// failures). Thread-safe.
class Client {
 public:
  // `url` consists of the scheme, the host, the port, and an optional path prefix for a proxy.
  // `token` may be empty. The transport must outlive the client.
  Client(std::string url, std::string token, HttpTransport* transport);

  // Sends a GET request. `path` starts with a slash.
  StatusOr<Json> Get(std::string_view path, const Parameters& parameters) const {
    return Call("GET", path, parameters);
  }
  // Like Get, but returns the response body without parsing it.
  StatusOr<std::string> GetText(std::string_view path, const Parameters& parameters) const {
    return Exchange("GET", path, parameters, "*/*");
  }
  StatusOr<Json> Call(std::string_view method, std::string_view path,
                      const Parameters& parameters) const;
  // Sends a POST request with a JSON body.
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
