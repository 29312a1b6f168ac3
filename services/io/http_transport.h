// The interface through which webhooks (and other callers of ours) reach HTTP servers.
// services/adapters/http implements it over libcurl; tests script it.
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
  int64_t timeout_ns = 15'000'000'000;    // the whole exchange
  size_t max_response_bytes = 64 * 1024;  // of the body; a longer one fails the call
  // Only the status and the headers matter: a body that is too long, late, or cut short by the
  // server is cut off, and the call succeeds, so that a receiver which took the request is not sent
  // it again.
  bool status_suffices = false;
  // When it becomes true the call ends soon with Cancelled. Borrowed for the call; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, in order
  std::string body;
  // Value of the first header of that (lower-case) name, "" when there is none.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// Thread-safe. Any answer, whatever its status, is a reply; a Status says why there was none:
// InvalidArgument (URL not allowed), FailedPrecondition (address refused by policy),
// DeadlineExceeded, Cancelled, ResourceExhausted (answer too long), Unavailable (everything else).
// Redirects are not followed: they are replies.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual StatusOr<HttpReply> Perform(const HttpCall& call) = 0;
  // Whether Perform would refuse the URL before any connection: for checks at start.
  virtual Status CheckUrl(std::string_view url) const = 0;
};

// Makes the value of the header webhook-signature (Standard Webhooks 1.0.0). Thread-safe.
class WebhookSigner {
 public:
  virtual ~WebhookSigner() = default;
  // `timestamp`: Unix seconds of the attempt. One "v1,<base64>" per secret, separated by spaces.
  virtual std::string Sign(std::string_view id, int64_t timestamp, std::string_view body) const = 0;
};

}  // namespace pitwall
