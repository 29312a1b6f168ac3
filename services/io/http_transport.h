// Interface for HTTP calls by webhooks and other clients. services/adapters/http implements it
// using libcurl; tests use a scripted implementation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall {

struct HttpCall {
  std::string method = "POST";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  Duration timeout = Duration::Seconds(15);  // for the whole exchange
  size_t max_response_bytes = 64 * 1024;     // maximum body size; a larger body fails the call
  // If true, only the status and headers matter. A body that is too large, late, or incomplete is
  // ignored, and the call succeeds. This prevents retries of a request that the receiver has
  // already accepted.
  bool status_suffices = false;
  // When the flag becomes true, the call ends with Cancelled shortly afterward. Borrowed for the
  // duration of the call; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, in order
  std::string body;
  // Returns the value of the first header with that name (in lower case), or "".
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// Thread-safe. Any response counts as a result, regardless of its status. An error Status means
// that no response arrived: InvalidArgument (URL not allowed), FailedPrecondition (address rejected
// by the policy), DeadlineExceeded, Cancelled, ResourceExhausted (response too large), or
// Unavailable (everything else). Redirects are returned as responses and are not followed.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual StatusOr<HttpReply> Perform(const HttpCall& call) = 0;
  // Returns an error if Perform would reject the URL before connecting. Used for checks at startup.
  virtual Status CheckUrl(std::string_view url) const = 0;
};

// Signer for the webhook-signature header (Standard Webhooks 1.0.0). Thread-safe.
class WebhookSigner {
 public:
  virtual ~WebhookSigner() = default;
  // `timestamp` is the time of the attempt in Unix seconds. Returns one "v1,<base64>" per secret,
  // separated by spaces.
  virtual std::string Sign(std::string_view id, int64_t timestamp, std::string_view body) const = 0;
};

}  // namespace pitwall
