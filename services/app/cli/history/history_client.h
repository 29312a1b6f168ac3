// Client of the HTTP API of the history (docs/api.md).
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
using JsonFault = nlohmann::ordered_json::exception;  // a response in another format

// Client of one server. Errors name the URL or repeat the message of the server: InvalidArgument
// (400), PermissionDenied (401, 403), NotFound (404), FailedPrecondition (409), OutOfRange (410),
// ResourceExhausted (422, or a response that is too long), Unavailable (everything else).
// Thread-safe.
class Client {
 public:
  // `url` has the scheme, the host, the port, and the prefix of a proxy if there is one. `token`
  // may be
  // "". The transport must outlive the client.
  Client(std::string url, std::string token, HttpTransport* transport);

  // Requests a path, which begins with a slash.
  StatusOr<Json> Get(std::string_view path, const Parameters& parameters) const {
    return Call("GET", path, parameters);
  }
  // Returns the response without parsing it.
  StatusOr<std::string> GetText(std::string_view path, const Parameters& parameters) const {
    return Exchange("GET", path, parameters, "*/*");
  }
  StatusOr<Json> Call(std::string_view method, std::string_view path,
                      const Parameters& parameters) const;
  // Sends a POST with a JSON body.
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
