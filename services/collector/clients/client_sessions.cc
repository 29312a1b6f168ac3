#include "services/collector/clients/client_sessions.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/quiet_protobuf.h"
#include "services/collector/clients/hello.h"
#include "services/collector/clients/message_size_estimate.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

// Clients report their scheduler job, because only their environment identifies it. The kernel
// identifies their process, because a client could otherwise claim another user's process.
JobReference ReferenceOf(const pb::Hello& hello, const Peer& peer, const SessionsOptions& options) {
  if (hello.platform().empty() || hello.platform() == "process")
    return ProcessReference(options.root, options.node, peer);
  return {hello.platform(), hello.cluster(), hello.namespace_(), hello.kind(),
          hello.job_name(), hello.uid(),     hello.queue()};
}

}  // namespace

ClientSessions::ClientSessions(const SessionsOptions& options, JobRegistry* bindings,
                               BatchSender* sender, NodeAnnouncer* announcer,
                               const MonotonicEventClock& time, const Clock& clock,
                               Counters* counters)
    : options_(options),
      bindings_(bindings),
      sender_(sender),
      announcer_(announcer),
      time_(time),
      clock_(clock),
      counters_(counters),
      retained_(options.max_retained),
      home_(ReadProcessHome(options.root)),
      processes_(options.root),
      launches_(&processes_, clock),
      ends_(bindings, &launches_, time, clock) {
  codec::QuietProtobuf();
}

StatusOr<ClientSessions::Answer> ClientSessions::Handle(uint64_t client, const Peer& peer,
                                                        std::string_view bytes) {
  // The counter is incremented after handling, regardless of the result.
  const absl::Cleanup counted = [this] {
    counters_->client_messages.fetch_add(1, std::memory_order_release);
  };
  RETURN_IF_ERROR(CheckParts(*pb::ClientMessage::descriptor(), bytes, kMaxClientParts));
  // Most messages fit into block_. The arena frees any additional memory on return.
  google::protobuf::Arena arena(block_.data(), block_.size());
  auto& message = *google::protobuf::Arena::CreateMessage<pb::ClientMessage>(&arena);
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(Cat("not a ClientMessage (", bytes.size(), " bytes)"));
  }
  const auto source = sources_.find(client);
  const bool known = source != sources_.end();
  if (known && source->second == nullptr)
    return InvalidArgument("the same process has opened a newer connection");
  if (known && !bindings_->Holds(client)) return Displaced(client);
  switch (message.body_case()) {
    case pb::ClientMessage::kHello:
      if (known) return InvalidArgument("unexpected second hello");
      return OnHello(client, peer, message.hello());
    case pb::ClientMessage::kUpdate:
      if (!known) return InvalidArgument("received an update before hello");
      RETURN_IF_ERROR(source->second->Update(message.update()));
      if (captures_ != nullptr) {
        const RankSource::Identity& identity = source->second->identity();
        captures_->states()->Moved(identity.job, identity.info.rank,
                                   source->second->doing().step_plus_one);
      }
      return Answer{};
    case pb::ClientMessage::kCaptured:
      if (!known) return InvalidArgument("received a capture before hello");
      if (captures_ != nullptr) captures_->Answered(client, message.captured(), bytes.size());
      return Answer{};
    case pb::ClientMessage::kAskCapture:
      if (known)
        return InvalidArgument("received a capture request after hello; use a separate connection");
      return OnAskCapture(peer, message.ask_capture());
    case pb::ClientMessage::kGoodbye: {
      if (!known) return InvalidArgument("received goodbye before hello");
      const std::string& reason = message.goodbye().reason();
      if (!reason.empty() && reason != "completed" && reason != "failed" && reason != "cancelled") {
        return InvalidArgument(Cat("goodbye: reason must be completed, failed, or cancelled (got ",
                                   Quote(reason.substr(0, 100)), ")"));
      }
      OnGoodbye(client, message.goodbye());
      // A client that resends updates closes the connection itself once it is notified that all of
      // its updates are durable.
      return Answer{"", !notices_.Expects(client)};
    }
    case pb::ClientMessage::BODY_NOT_SET:
      break;
  }
  return InvalidArgument("unknown message type");
}

std::unique_ptr<RankSource> ClientSessions::TakeBack(const SourceBoot& boot,
                                                     std::string_view owner) {
  const auto same = [&](const RankSource& source) {
    const RankSource::Identity& identity = source.identity();
    return identity.job == boot.job && identity.source == boot.source &&
           identity.boot_id == boot.boot_id && identity.owner == owner;
  };
  if (auto source = retained_.TakeBack(same); source != nullptr) return source;
  if (auto leaving = leaving_.TakeBack(same); leaving.has_value()) {
    bindings_->Release(leaving->client, std::nullopt, clock_.MonotonicNs());
    return std::move(leaving->source);
  }
  // The client may have reconnected before the loss of its old connection was detected.
  for (auto& [client, source] : sources_) {
    if (source == nullptr || !same(*source)) continue;
    bindings_->Release(client, std::nullopt, clock_.MonotonicNs());
    notices_.Forget(client);
    return std::move(source);
  }
  return nullptr;
}

// Earlier boots of a restarted rank are forgotten.
void ClientSessions::ForgetOtherBoots(const SourceBoot& boot) {
  sender_->cursors()->EndOthers(boot.job, boot.source, boot.boot_id);
  for (auto& source : retained_.TakeOtherBoots(boot.job, boot.source, boot.boot_id)) {
    if (const auto end = processes_.EndOf(source->identity().process); end.has_value())
      ends_.Conclude(std::move(source), *end);
  }
}

void ClientSessions::OnGoodbye(uint64_t client, const client::v1::Goodbye& goodbye) {
  const auto it = sources_.find(client);
  LeavingRanks::Leaving leaving{.source = std::move(it->second),
                                .farewell = {.reason = goodbye.reason(),
                                             .exception = goodbye.exception(),
                                             .exiting = goodbye.exiting(),
                                             .exit_status = {}},
                                .client = client,
                                .since_ns = clock_.MonotonicNs()};
  sources_.erase(it);
  if (goodbye.has_exit_status()) leaving.farewell.exit_status = goodbye.exit_status() & 0xff;
  const Farewell& farewell = leaving.farewell;
  const bool watched = leaving.source->identity().process.self.pid > 0;
  // An uncaught exception is a failure, regardless of the exit status.
  if (!watched || (farewell.reason == "failed" && !farewell.exception.empty()))
    return ends_.Conclude({std::move(leaving), ProcessEnd()});
  // If the process keeps running, the rank leaves the job now. If the process ends soon, its exit
  // status still updates the result.
  if (!farewell.exiting) bindings_->Release(client, farewell.reason, clock_.MonotonicNs());
  leaving_.Add(std::move(leaving));
}

Status ClientSessions::Displaced(uint64_t client) {
  const auto it = sources_.find(client);
  const std::string job = it->second->identity().job;
  sources_.erase(it);  // the rank sends nothing more and cannot be resumed
  return Refuse(Refusal::kDisplaced,
                Cat("job ", Quote(job), " has been declared for another owner"));
}

std::unique_ptr<RankSource> ClientSessions::NewSource(const SourceBoot& boot,
                                                      const JobRegistry::Claimed& claimed,
                                                      const pb::Hello& hello, const Peer& peer) {
  const int64_t late_ns = time_.Now() - hello.start_unix_ns();
  RankSource::Identity identity;
  identity.job = boot.job;
  identity.owner = claimed.owner;
  identity.owner_declared = claimed.owner_declared;
  identity.source = boot.source;
  identity.boot_id = boot.boot_id;
  identity.info.kind = SourceKind::kRank;
  identity.info.node = options_.node;
  identity.info.rank = hello.rank();
  identity.world_size = hello.world_size();
  identity.info.start = EventTime::FromNs(hello.start_unix_ns());
  identity.process = processes_.Begin(peer);
  identity.home = home_;
  if (hello.has_attempt()) identity.info.attempt = hello.attempt();
  identity.known = sender_->cursors()->Find(boot.job, boot.source, boot.boot_id);
  identity.first_sequence = FirstSequence(late_ns, identity.known);
  identity.resends = hello.keeps_until_written();
  if (!claimed.first && late_ns > options_.join_slack_ns)
    counters_->late_hellos.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<RankSource>(std::move(identity), sender_, counters_);
}

StatusOr<ClientSessions::Answer> ClientSessions::OnHello(uint64_t client, const Peer& peer,
                                                         const pb::Hello& hello) {
  RETURN_IF_ERROR(CheckHello(hello));
  // A hello with a new boot ID from the same process ends the earlier boot of that process.
  const auto ended_here = [&](const RankSource& source) {
    return peer.pid > 0 && source.identity().process.self.pid == peer.pid &&
           source.identity().boot_id != hello.boot_id();
  };
  for (LeavingRanks::Done& done :
       leaving_.TakeDone(&processes_, clock_.MonotonicNs(), ended_here)) {
    ends_.Conclude(std::move(done));
  }
  JobClaim claim = ClaimOf(hello, peer);
  claim.reference = ReferenceOf(hello, peer, options_);
  if (const auto launcher = processes_.ParentOf(peer.pid); launcher.has_value())
    claim.launcher = Cat(launcher->pid, "@", launcher->start_ticks);
  ASSIGN_OR_RETURN(const JobRegistry::Claimed claimed, bindings_->Claim(client, claim));

  const SourceBoot boot = {claimed.job_id, Cat("rank-", hello.rank(), "@", options_.node),
                           hello.boot_id()};
  std::unique_ptr<RankSource> source = TakeBack(boot, claimed.owner);
  ForgetOtherBoots(boot);
  if (source == nullptr) source = NewSource(boot, claimed, hello, peer);
  PITWALL_LOG(kInfo, "collector", "hello from rank ", hello.rank(), " of job ",
              Quote(claimed.job_id), ", pid ", peer.pid);
  launches_.Started(claimed.job_id, source->identity().process, !HasRank(claimed.job_id));
  source->Connect(hello.keeps_until_written(), hello.captures());
  const std::optional<ClientCursor> durable =
      sender_->cursors()->Find(boot.job, boot.source, boot.boot_id);
  source->Announce(StartEvents(hello, claim, claimed));
  // The node is announced after the client, because the node's promise may be later than the
  // client's start. The node must be announced before the client's first promise.
  if (announcer_ != nullptr)
    announcer_->Announce(claimed.job_id, claimed.owner, claimed.owner_declared);
  const uint64_t received = source->received();
  sources_[client] = std::move(source);
  bindings_->Announced(client);
  if (on_rank_ != nullptr) on_rank_(sources_[client]->identity(), peer.pid);

  pb::CollectorMessage answer;
  answer.mutable_welcome()->set_node(options_.node);
  answer.mutable_welcome()->set_job_id(claimed.job_id);
  answer.mutable_welcome()->set_source(boot.source);
  answer.mutable_welcome()->set_sends_written(true);
  if (hello.keeps_until_written()) {
    const uint64_t written = durable.has_value() ? durable->written : 0;
    answer.mutable_welcome()->set_written_sequence(written);
    answer.mutable_welcome()->set_received_sequence(std::max(written, received));
    notices_.Expect(client, boot, written);
  }
  return Answer{answer.SerializeAsString(), false};
}

void ClientSessions::OnNews(std::function<void()> call) {
  if (captures_ != nullptr) captures_->OnRequest(call);
  sender_->cursors()->OnAdvance(std::move(call));
}

std::vector<std::pair<uint64_t, std::string>> ClientSessions::News() {
  std::vector<std::pair<uint64_t, std::string>> news;
  if (captures_ != nullptr) {
    captures_->Step([this](const CaptureRequest& request) { return RanksOf(request); });
    news = captures_->Messages();
  }
  notices_.Take(*sender_->cursors(), &news);
  return news;
}

void ClientSessions::Closed(uint64_t client) {
  notices_.Forget(client);
  if (captures_ != nullptr) captures_->Closed(client);
  const auto it = sources_.find(client);
  if (it == sources_.end()) return;
  std::unique_ptr<RankSource> source = std::move(it->second);
  sources_.erase(it);
  if (source == nullptr) return;
  const RankSource::Identity& identity = source->identity();
  source->NoteClosed(time_.Now());
  bindings_->Release(client, std::nullopt, clock_.MonotonicNs());
  if (const auto end = processes_.EndOf(identity.process); end.has_value()) {
    ends_.Conclude(std::move(source), *end);
  } else {
    PITWALL_LOG(kWarning, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
                " closed its connection without a goodbye");
    if (identity.process.self.pid > 0) closed_at_ns_ = clock_.MonotonicNs();
    retained_.Add(std::move(source));
  }
  counters_->clients_lost.fetch_add(
      1, std::memory_order_relaxed);  // incremented last, after all other effects
}

bool ClientSessions::HasRank(const std::string& job) const {
  return leaving_.Has(job) || retained_.Has(job) ||
         std::any_of(sources_.begin(), sources_.end(), [&job](const auto& entry) {
           return entry.second != nullptr && entry.second->identity().job == job;
         });
}

std::vector<uint64_t> ClientSessions::Departed() {
  std::vector<uint64_t> departed;
  for (const auto& [client, source] : sources_) {
    if (source == nullptr || source->identity().process.self.pid <= 0) continue;
    if (!processes_.Runs(source->identity().process.self)) departed.push_back(client);
  }
  return departed;
}

void ClientSessions::Patrol() {
  std::vector<const WatchedProcess*> watched;
  std::set<std::string, std::less<>> here;
  for (const auto& [client, source] : sources_) {
    if (source == nullptr) continue;
    watched.push_back(&source->identity().process);
    here.insert(source->identity().job);
  }
  for (RetainedRanks::Ended& ended : retained_.TakeEnded(&processes_))
    ends_.Conclude(std::move(ended.source), ended.end);
  retained_.ListTo(&watched, &here);
  for (LeavingRanks::Done& done : leaving_.TakeDone(&processes_, clock_.MonotonicNs()))
    ends_.Conclude(std::move(done));
  leaving_.ListTo(&watched, &here);
  processes_.ReadOomCounts(watched);
  launches_.Patrol(here, time_.Now());
}

int ClientSessions::PatrolMs() const {
  if (captures_ != nullptr && captures_->active()) return NodeCaptures::kStepMs;
  const int64_t newest_ns = std::max(closed_at_ns_, leaving_.newest_ns());
  return clock_.MonotonicNs() - newest_ns < RankEnds::kEndsWithinNs ? 10 : 250;
}

}  // namespace pitwall::collector
