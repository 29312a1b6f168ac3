// HTTP server request and response.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/system/access.h"

namespace pitwall::http {

struct HttpRequest {
  std::string method;
  std::string path;                                          // without the query, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in the order of the request
  std::vector<std::pair<std::string, std::string>> headers;  // with lowercase names
  std::string body;
  std::string peer;         // client address
  Role role = Role::kNone;  // role granted to the request

  std::string_view Query(std::string_view name) const;   // returns the first value, or "" if absent
  std::string_view Header(std::string_view name) const;  // `name` must be lowercase
};

// Response body that is produced incrementally, for example server-sent events. Belongs to one
// request. Used only on the I/O thread, which calls Pull repeatedly while the client accepts data.
// The server buffers the bytes of at most one Pull per client.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  // Returns the next bytes, or "" if none are available yet. Must not block because all connections
  // share the thread.
  virtual std::string Pull() = 0;
  // Returns true if the body ends after the bytes of the last Pull.
  virtual bool over() const = 0;
  // Returns the last bytes to send when the server stops.
  virtual std::string Farewell() { return {}; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::shared_ptr<ResponseStream> stream;  // if not null, replaces `body`
  std::vector<std::pair<std::string, std::string>> headers;

  static HttpResponse Text(int status, std::string_view body);
  static HttpResponse Json(std::string body);
};

}  // namespace pitwall::http
