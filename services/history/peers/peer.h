// Another history process. It stores the jobs in other partitions.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/history/peers/peer_codec.h"
#include "services/io/http_transport.h"

namespace pitwall::history {

// Header that marks a request from a peer. Such a request is handled locally and not forwarded.
inline constexpr std::string_view kPeerHeader = "x-pitwall-peer";
inline constexpr std::string_view kPeerPath = "/api/pitwall/peer";

struct PeerOptions {
  int64_t timeout_ns = 10 * kNanosPerSecond;
  // Timeout for a request that is forwarded as a whole. It is slightly longer than the query
  // timeout.
  int64_t forward_timeout_ns = 65 * kNanosPerSecond;
  // Pause after a failure. During the pause, the peer counts as unavailable and receives no
  // requests.
  int64_t rest_ns = kNanosPerSecond;
  size_t max_answer_bytes = size_t{256} << 20;
  AccessTokens tokens;  // this process's tokens; all processes share them
};

// Thread-safe. The caller owns all pointers.
class Peer {
 public:
  Peer(int index, int self, std::string url, const Clock* clock, HttpTransport* transport,
       const PeerOptions* options);

  int index() const { return index_; }
  const std::string& url() const { return url_; }
  // Sends a query. Returns the peer's own status if the peer responded. Otherwise, returns
  // Unavailable with the peer's URL.
  StatusOr<std::string> Call(PeerMethod method, std::string_view words);
  // Forwards the request with the caller's role. Returns Unavailable if the peer does not respond.
  StatusOr<http::HttpResponse> Forward(const http::HttpRequest& request);

 private:
  StatusOr<HttpReply> Perform(HttpCall call, Role role);

  const int index_;
  const int self_;
  const std::string url_;  // without a trailing slash
  const Clock* const clock_;
  HttpTransport* const transport_;
  const PeerOptions& options_;
  Mutex mutex_;
  Status fault_ ABSL_GUARDED_BY(mutex_);
  int64_t rests_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Encodes parameters in the form "job=a%20b&x=1", which the server decodes.
std::string EncodeQuery(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace pitwall::history
