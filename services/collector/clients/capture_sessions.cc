// Capture requests from client sessions, including access checks and the lookup of local ranks.
#include <algorithm>
#include <map>
#include <utility>

#include <unistd.h>

#include "services/base/terminal.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/client_sessions.h"
#include "services/collector/ranks/client_update.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr int64_t kLongestAskNs = 60 * kNanosPerSecond;
constexpr int64_t kUsualAskNs = 10 * kNanosPerSecond;

}  // namespace

// Accepts requests from the job's owner, root, and the collector's own user, as identified by the
// kernel. Root and the collector's user can read all of the data anyway.
StatusOr<ClientSessions::Answer> ClientSessions::OnAskCapture(const Peer& peer,
                                                              const pb::AskCapture& ask) {
  if (captures_ == nullptr) return InvalidArgument("captures are disabled on this collector");
  if (ask.job().empty() || ask.job().size() > kMaxClientText || HasControl(ask.job()))
    return InvalidArgument("capture: job must be a valid job ID or name");
  if (ask.ranks_size() > static_cast<int>(kMaxCaptureRanks))
    return InvalidArgument(Cat("capture: at most ", kMaxCaptureRanks,
                               " ranks may be requested (got ", ask.ranks_size(), ")"));
  const std::string owner = OwnerOf(peer.uid, peer.pod);
  const bool any = peer.uid == 0 || peer.uid == static_cast<int64_t>(geteuid());
  uint64_t version;
  std::string job, others;
  for (const BoundJob& bound : bindings_->Jobs(&version)) {
    if (bound.id != ask.job() && bound.name != ask.job()) continue;
    if (!any && bound.owner != owner) {
      others = bound.owner;
    } else if (job.empty() || bound.id == ask.job()) {
      job = bound.id;
    }
  }
  if (job.empty() && !others.empty()) {
    return Refuse(Refusal::kOtherOwner,
                  Cat("job ", Quote(ask.job()), " belongs to ", others,
                      "; only its owner or a token with the role act may request a capture"));
  }
  pb::CollectorMessage answer;
  if (job.empty()) {
    answer.mutable_asked()->set_error(Cat("job ", Quote(ask.job()), ": not found on node ",
                                          options_.node,
                                          "; send the request on one of its nodes, or to the gRPC "
                                          "server with a token of the role act"));
    return Answer{answer.SerializeAsString(), true};
  }
  CaptureRequest request;
  request.job = job;
  for (const uint32_t rank : ask.ranks()) request.ranks.push_back(rank);
  request.principal = owner;
  const int64_t timeout = ask.timeout_ns() > 0 ? ask.timeout_ns() : kUsualAskNs;
  request.expires = EventTime::FromNs(clock_.WallNs() + std::min(timeout, kLongestAskNs));
  request.id = StableHashHex(Cat("ask\xff", options_.node, "\xff", job, "\xff", clock_.WallNs(),
                                 "\xff", clock_.MonotonicNs()));
  answer.mutable_asked()->set_id(request.id);
  if (const Status asked = captures_->RequestCapture(std::move(request)); !asked.ok()) {
    answer.mutable_asked()->clear_id();
    answer.mutable_asked()->set_error(std::string(ToStd(asked.message())));
  }
  return Answer{answer.SerializeAsString(), true};
}

std::vector<CaptureRank> ClientSessions::RanksOf(const CaptureRequest& request) const {
  std::vector<CaptureRank> ranks;
  uint64_t version;
  std::map<std::string, std::string, std::less<>> jobs = {{request.job, ""}};  // job ID to job name
  for (const BoundJob& job : bindings_->Jobs(&version)) {
    if (job.id == request.job || job.name == request.job) jobs[job.id] = job.name;
  }
  const auto add = [&](const RankSource& source, std::optional<uint64_t> client) {
    const RankSource::Identity& identity = source.identity();
    const auto job = jobs.find(identity.job);
    if (job == jobs.end()) return;
    ranks.push_back({.client = client,
                     .answers = source.captures(),
                     .job = identity.job,
                     .job_name = job->second,
                     .owner = identity.owner,
                     .rank = identity.info.rank,
                     .world_size = identity.world_size,
                     .process = identity.process.self,
                     .phase = source.doing().phase,
                     .mode = source.doing().mode,
                     .step_plus_one = source.doing().step_plus_one});
  };
  for (const auto& [client, source] : sources_) {
    if (source != nullptr) add(*source, client);
  }
  for (const auto& source : retained_.ranks()) add(*source, std::nullopt);
  std::stable_sort(ranks.begin(), ranks.end(), [](const CaptureRank& a, const CaptureRank& b) {
    return std::pair(a.job, a.rank) < std::pair(b.job, b.rank);
  });
  return ranks;
}

}  // namespace pitwall::collector
