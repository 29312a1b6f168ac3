#include "services/history/peers/peer.h"

#include <algorithm>
#include <array>

#include "services/base/text/percent.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::history {
namespace {

constexpr std::array<std::string_view, 4> kPassedOn = {"accept", "accept-language", "content-type",
                                                       "if-none-match"};
// Headers that are not copied from a peer's reply.
constexpr std::array<std::string_view, 8> kOwn = {"connection", "content-length",   "content-type",
                                                  "date",       "keep-alive",       "server",
                                                  "set-cookie", "transfer-encoding"};

// Slashes in the path are not escaped.
constexpr std::string_view kPathMarks = "-._~/";

}  // namespace

std::string EncodeQuery(const std::vector<std::pair<std::string, std::string>>& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    CatTo(out, PercentEncoded(name), "=", PercentEncoded(value));
  }
  return out;
}

Peer::Peer(int index, int self, std::string url, const Clock* clock, HttpTransport* transport,
           const PeerOptions* options)
    : index_(index),
      self_(self),
      url_(url.substr(0, url.find_last_not_of('/') + 1)),
      clock_(clock),
      transport_(transport),
      options_(*options) {}

StatusOr<HttpReply> Peer::Perform(HttpCall call, Role role) {
  {
    MutexLock lock(&mutex_);
    if (!fault_.ok() && clock_->MonotonicNs() < rests_until_ns_) return fault_;
  }
  call.max_response_bytes = options_.max_answer_bytes;
  call.headers.emplace_back(kPeerHeader, Cat(self_));
  const std::string& token = role == Role::kAct && !options_.tokens.act.empty()
                                 ? options_.tokens.act
                                 : options_.tokens.view;
  if (!token.empty()) call.headers.emplace_back("Authorization", Cat("Bearer ", token));
  StatusOr<HttpReply> reply = transport_->Perform(call);
  // A response over the size limit does not mean that the peer is unavailable.
  if (absl::IsResourceExhausted(reply.status())) {
    return ResourceExhausted(Cat("peer ", index_, " (", url_, "): its response exceeds ",
                                 options_.max_answer_bytes, " bytes; narrow the query"));
  }
  MutexLock lock(&mutex_);
  if (reply.ok()) {
    fault_ = OkStatus();
    return reply;
  }
  fault_ = Unavailable(
      Cat("peer ", index_, " (", url_, ") does not respond: ", ToStd(reply.status().message())));
  rests_until_ns_ = clock_->MonotonicNs() + options_.rest_ns;
  return fault_;
}

StatusOr<std::string> Peer::Call(PeerMethod method, std::string_view words) {
  HttpCall call;
  call.url = Cat(url_, kPeerPath);
  call.timeout = Duration::Nanos(options_.timeout_ns);
  call.headers = {{"Content-Type", "application/octet-stream"}};
  call.body.push_back(static_cast<char>(kPeerVersion));
  call.body.push_back(static_cast<char>(method));
  call.body += words;
  ASSIGN_OR_RETURN(const HttpReply reply, Perform(std::move(call), Role::kView));
  if (reply.status != 200) {
    const bool refused = reply.status == 401 || reply.status == 403;
    return Unavailable(Cat("peer ", index_, " (", url_, ") responded with ", reply.status,
                           refused ? "; configure the same tokens on all peers" : ""));
  }
  StatusOr<std::string> answer = TakeAnswer(reply.body);
  if (absl::IsUnavailable(answer.status()))
    return Unavailable(Cat("peer ", index_, " (", url_, "): ", ToStd(answer.status().message())));
  return answer;
}

StatusOr<http::HttpResponse> Peer::Forward(const http::HttpRequest& request) {
  HttpCall call;
  call.method = request.method == "HEAD" ? "GET" : request.method;
  call.url = Cat(url_, PercentEncoded(request.path, kPathMarks));
  if (!request.query.empty()) CatTo(call.url, "?", EncodeQuery(request.query));
  call.timeout = Duration::Nanos(options_.forward_timeout_ns);
  call.body = request.body;
  for (const auto& [name, value] : request.headers) {
    if (std::find(kPassedOn.begin(), kPassedOn.end(), name) != kPassedOn.end())
      call.headers.emplace_back(name, value);
  }
  ASSIGN_OR_RETURN(HttpReply reply, Perform(std::move(call), request.role));
  http::HttpResponse response;
  response.status = reply.status;
  response.body = std::move(reply.body);
  response.content_type = std::string(reply.Header("content-type"));
  for (auto& [name, value] : reply.headers) {
    if (std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end())
      response.headers.emplace_back(std::move(name), std::move(value));
  }
  return response;
}

}  // namespace pitwall::history
