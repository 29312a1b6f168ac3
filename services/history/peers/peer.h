// Another process of the history, which keeps the jobs of other partitions.
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

// Of each request of a peer: it is answered from what is here, and asked of nobody else.
inline constexpr std::string_view kPeerHeader = "x-pitwall-peer";
inline constexpr std::string_view kPeerPath = "/api/pitwall/peer";

struct PeerOptions {
  int64_t timeout_ns = 10 * kNanosPerSecond;
  // Of a whole request that is handed on, as long as a query may take and a little longer.
  int64_t forward_timeout_ns = 65 * kNanosPerSecond;
  // After a failure it is not asked for so long: what it would say is known.
  int64_t rest_ns = kNanosPerSecond;
  size_t max_answer_bytes = size_t{256} << 20;
  AccessTokens tokens;  // those of this process: all have the same
};

// Thread-safe. Everything is borrowed.
class Peer {
 public:
  Peer(int index, int self, std::string url, const Clock* clock, HttpTransport* transport,
       const PeerOptions* options);

  int index() const { return index_; }
  const std::string& url() const { return url_; }
  // The peer's own status where it answered. Unavailable: it did not; the message names it.
  StatusOr<std::string> Ask(PeerQuestion question, std::string_view words);
  // The request as it came, with the role that the caller has. Unavailable: no answer.
  StatusOr<http::HttpResponse> Forward(const http::HttpRequest& request);

 private:
  StatusOr<HttpReply> Perform(HttpCall call, Role role);

  const int index_;
  const int self_;
  const std::string url_;  // without a slash at its end
  const Clock* const clock_;
  HttpTransport* const transport_;
  const PeerOptions& options_;
  Mutex mutex_;
  Status fault_ ABSL_GUARDED_BY(mutex_);
  int64_t rests_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

// "job=a%20b&x=1": what a server reads back as the same.
std::string EncodeQuery(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace pitwall::history
