// Interface for HTTP calls of webhooks and other clients. services/adapters/http implements it over
// libcurl; tests use a script.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

struct HttpCall {
  std::string method = "POST";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  int64_t timeout_ns = 15'000'000'000;    // of the whole exchange
  size_t max_response_bytes = 64 * 1024;  // of the body; a longer one fails the call
  // True: only status and headers matter. A body that is too long, late, or truncated is cut off,
  // and the call succeeds, so that a receiver that accepted the request does not get it again.
  bool status_suffices = false;
  // If it becomes true, the call soon ends with Cancelled. Borrowed for the call; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, in order
  std::string body;
  // Returns the value of the first header with that (lower-case) name, or "".
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// Thread-safe. Any reply is a result, whatever its status; a Status is the reason for no reply:
// InvalidArgument (URL not allowed), FailedPrecondition (address refused by policy),
// DeadlineExceeded, Cancelled, ResourceExhausted (reply too long), Unavailable (everything else).
// Redirects are not followed: they are replies.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual StatusOr<HttpReply> Perform(const HttpCall& call) = 0;
  // Returns an error if Perform would reject the URL before any connection; for checks at startup.
  virtual Status CheckUrl(std::string_view url) const = 0;
};

// Signs messages for the header webhook-signature (Standard Webhooks 1.0.0). Thread-safe.
class WebhookSigner {
 public:
  virtual ~WebhookSigner() = default;
  // `timestamp`: Unix seconds of the attempt. Returns one "v1,<base64>" per secret, separated by
  // spaces.
  virtual std::string Sign(std::string_view id, int64_t timestamp, std::string_view body) const = 0;
};

}  // namespace pitwall
