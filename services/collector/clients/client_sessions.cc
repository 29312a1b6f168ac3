#include "services/collector/clients/client_sessions.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/quiet_protobuf.h"
#include "services/collector/clients/message_size_estimate.h"
#include "services/model/owner.h"
#include "services/model/sanitize_text.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr uint32_t kProtocol = 1;
constexpr int kMaxHelloLabels = 64;
// A client that says hello later than this after its start may have been known to a collector
// before this one.
constexpr int64_t kFreshNs = kNanosPerSecond;
// Faster than any client sends: sequences that begin with the elapsed time in this unit are above
// those of before.
constexpr int64_t kSequenceUnitNs = 10 * kNanosPerMilli;
}  // namespace

uint64_t ClientSessions::FirstSequence(int64_t late_ns, const std::optional<ClientCursor>& known) {
  uint64_t first = 1;
  if (late_ns > kFreshNs) first += static_cast<uint64_t>(late_ns / kSequenceUnitNs);
  return known.has_value() ? std::max(first, known->batch + 1) : first;
}

ClientSessions::ClientSessions(const SessionsOptions& options, JobRegistry* bindings,
                               BatchSender* sender, NodeAnnouncer* announcer, const EventTime& time,
                               const Clock& clock, Counters* counters)
    : options_(options),
      bindings_(bindings),
      sender_(sender),
      announcer_(announcer),
      time_(time),
      clock_(clock),
      counters_(counters),
      home_(ReadProcessHome(options.root)),
      processes_(options.root),
      launches_(&processes_, clock) {
  codec::QuietProtobuf();
}

StatusOr<ClientSessions::Answer> ClientSessions::Handle(uint64_t client, const Peer& peer,
                                                        std::string_view bytes) {
  // Counted when it has been handled, whatever came of it.
  const absl::Cleanup counted = [this] {
    counters_->client_messages.fetch_add(1, std::memory_order_release);
  };
  RETURN_IF_ERROR(CheckParts(*pb::ClientMessage::descriptor(), bytes, kMaxClientParts));
  // What a message costs goes with it: most fit into our block, and the rest is freed at once.
  google::protobuf::Arena arena(block_.data(), block_.size());
  auto& message = *google::protobuf::Arena::CreateMessage<pb::ClientMessage>(&arena);
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(Cat("not a ClientMessage (", bytes.size(), " bytes)"));
  }
  const auto source = sources_.find(client);
  const bool known = source != sources_.end();
  if (known && source->second == nullptr)
    return InvalidArgument("the same process has connected again since");
  if (known && !bindings_->Holds(client)) return Displaced(client);
  switch (message.body_case()) {
    case pb::ClientMessage::kHello:
      if (known) return InvalidArgument("a second hello");
      return OnHello(client, peer, message.hello());
    case pb::ClientMessage::kUpdate:
      if (!known) return InvalidArgument("an update before the hello");
      RETURN_IF_ERROR(source->second->Update(message.update()));
      if (captures_ != nullptr) {
        const RankSource::Identity& identity = source->second->identity();
        captures_->states()->Moved(identity.job, identity.info.rank,
                                   source->second->doing().step_plus_one);
      }
      return Answer{};
    case pb::ClientMessage::kCaptured:
      if (!known) return InvalidArgument("a capture before the hello");
      if (captures_ != nullptr) captures_->Answered(client, message.captured(), bytes.size());
      return Answer{};
    case pb::ClientMessage::kAskCapture:
      if (known) return InvalidArgument("a client that said hello asks for a capture");
      return OnAskCapture(peer, message.ask_capture());
    case pb::ClientMessage::kGoodbye: {
      if (!known) return InvalidArgument("a goodbye before the hello");
      const std::string& reason = message.goodbye().reason();
      if (!reason.empty() && reason != "completed" && reason != "failed" && reason != "cancelled") {
        return InvalidArgument(Cat("goodbye for the reason ", Quote(reason.substr(0, 100))));
      }
      OnGoodbye(client, message.goodbye());
      // One that resends closes by itself, when it has heard that all is durable.
      return Answer{"", !waiting_.contains(client)};
    }
    case pb::ClientMessage::BODY_NOT_SET:
      break;
  }
  return InvalidArgument("a message of unknown kind");
}

Status ClientSessions::CheckHello(const pb::Hello& hello) const {
  if (hello.protocol() != kProtocol) {
    return InvalidArgument(
        Cat("protocol ", hello.protocol(), ": only ", kProtocol, " is spoken here"));
  }
  if (hello.boot_id().empty()) return InvalidArgument("hello without a boot id");
  if (hello.start_unix_ns() <= 0) return InvalidArgument("hello without a start");
  if (hello.labels_size() > kMaxHelloLabels) {
    return InvalidArgument(
        Cat("hello with ", hello.labels_size(), " labels, more than ", kMaxHelloLabels));
  }
  for (const std::string* text :
       {&hello.job_id(), &hello.job_name(), &hello.boot_id(), &hello.client(), &hello.platform(),
        &hello.cluster(), &hello.namespace_(), &hello.kind(), &hello.uid(), &hello.queue()}) {
    if (text->size() > kMaxClientText)
      return InvalidArgument(Cat("hello with a text of ", text->size(), " bytes"));
    if (HasControl(*text))
      return InvalidArgument(
          Cat("hello: ", Quote(TerminalLine(*text)), " has a control character"));
  }
  for (const pb::Label& label : hello.labels()) {
    if (label.name().empty() || label.name().size() > kMaxClientText ||
        label.value().size() > kMaxClientText) {
      return InvalidArgument(Cat("hello with a bad label ", Quote(label.name().substr(0, 100))));
    }
    if (HasControl(label.name())) {
      return InvalidArgument(
          Cat("hello: label ", Quote(TerminalLine(label.name())), " has a control character"));
    }
  }
  return OkStatus();
}

// A scheduler's job is the client's word: its environment has it. A process is the
// kernel's word alone, or anybody could name somebody else's.
JobReference ClientSessions::ReferenceOf(const pb::Hello& hello, const Peer& peer) const {
  if (hello.platform().empty() || hello.platform() == "process")
    return ProcessReference(options_.root, options_.node, peer);
  return {hello.platform(), hello.cluster(), hello.namespace_(), hello.kind(),
          hello.job_name(), hello.uid(),     hello.queue()};
}

std::unique_ptr<RankSource> ClientSessions::TakeBack(const Key& key, std::string_view owner) {
  auto same = [&](const RankSource& source) {
    const RankSource::Identity& identity = source.identity();
    return Key(identity.job, identity.source, identity.boot_id) == key && identity.owner == owner;
  };
  for (auto it = retained_.begin(); it != retained_.end(); ++it) {
    if (!same(**it)) continue;
    std::unique_ptr<RankSource> source = std::move(*it);
    retained_.erase(it);
    return source;
  }
  if (auto leaving = leaving_.TakeBack(same); leaving.has_value()) {
    bindings_->Release(leaving->client, std::nullopt, clock_.MonotonicNs());
    return std::move(leaving->source);
  }
  // It may have connected again before its old connection was seen to be gone.
  for (auto& [client, source] : sources_) {
    if (source == nullptr || !same(*source)) continue;
    bindings_->Release(client, std::nullopt, clock_.MonotonicNs());
    waiting_.erase(client);
    return std::move(source);
  }
  return nullptr;
}

void ClientSessions::Retain(std::unique_ptr<RankSource> source) {
  retained_.push_back(std::move(source));
  if (retained_.size() <= options_.max_retained) return;
  // The owner with the most gives one up: nobody can push out what others may come back to.
  std::map<std::string_view, size_t> counts;
  size_t most = 0;
  for (const auto& kept : retained_) most = std::max(most, ++counts[kept->identity().owner]);
  const auto oldest = std::find_if(retained_.begin(), retained_.end(), [&](const auto& kept) {
    return counts[kept->identity().owner] == most;
  });
  retained_.erase(oldest);
}

Status ClientSessions::Displaced(uint64_t client) {
  const auto it = sources_.find(client);
  const std::string job = it->second->identity().job;
  sources_.erase(it);  // nothing more is said for it, and nobody can take it back
  return Refuse(Refusal::kDisplaced,
                Cat("job ", Quote(job), ": it was declared for another owner"));
}

StatusOr<ClientSessions::Answer> ClientSessions::OnHello(uint64_t client, const Peer& peer,
                                                         const pb::Hello& hello) {
  RETURN_IF_ERROR(CheckHello(hello));
  // A process that says hello as another boot has ended its earlier one.
  const auto ended_here = [&](const RankSource& source) {
    return peer.pid > 0 && source.identity().process.self.pid == peer.pid &&
           source.identity().boot_id != hello.boot_id();
  };
  for (LeavingRanks::Done& done :
       leaving_.TakeDone(&processes_, clock_.MonotonicNs(), ended_here)) {
    Conclude(std::move(done));
  }
  JobClaim claim;
  claim.job_id = hello.job_id();
  claim.job_name = hello.job_name();
  claim.job_start_ns = hello.job_start_unix_ns();
  claim.client_start_ns = hello.start_unix_ns();
  claim.reference = ReferenceOf(hello, peer);
  for (const pb::Label& label : hello.labels())
    claim.labels.push_back({label.name(), SanitizeText(label.value())});
  claim.rank = hello.rank();
  claim.world_size = hello.world_size();
  claim.boot_id = hello.boot_id();
  claim.pid = peer.pid;  // its own word on that may be of another namespace
  claim.user = peer.uid;
  claim.owner = OwnerOf(peer.uid, peer.pod);
  if (const auto launcher = processes_.ParentOf(peer.pid); launcher.has_value())
    claim.launcher = Cat(launcher->pid, "@", launcher->start_ticks);
  ASSIGN_OR_RETURN(const JobRegistry::Claimed claimed, bindings_->Claim(client, claim));

  const std::string source_name = Cat("rank-", hello.rank(), "@", options_.node);
  std::unique_ptr<RankSource> source =
      TakeBack({claimed.job_id, source_name, hello.boot_id()}, claimed.owner);
  ForgetOtherBoots({claimed.job_id, source_name, hello.boot_id()});
  const int64_t late_ns = time_.Now() - hello.start_unix_ns();
  if (source == nullptr) {
    RankSource::Identity identity;
    identity.job = claimed.job_id;
    identity.owner = claimed.owner;
    identity.owner_declared = claimed.owner_declared;
    identity.source = source_name;
    identity.boot_id = hello.boot_id();
    identity.info.kind = SourceKind::kRank;
    identity.info.node = options_.node;
    identity.info.rank = hello.rank();
    identity.world_size = hello.world_size();
    identity.info.start_ns = hello.start_unix_ns();
    identity.process = processes_.Begin(peer);
    identity.home = home_;
    if (hello.has_attempt()) identity.info.attempt = hello.attempt();
    identity.known = sender_->cursors()->Find(claimed.job_id, source_name, hello.boot_id());
    identity.first_sequence = FirstSequence(late_ns, identity.known);
    identity.resends = hello.keeps_until_written();
    source = std::make_unique<RankSource>(std::move(identity), sender_, counters_);
    if (!claimed.first && late_ns > options_.join_slack_ns) {
      counters_->late_hellos.fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::vector<JobEvent> events;
  if (claimed.first) {
    JobEvent started;
    started.kind = JobEvent::Kind::kStarted;
    started.time_ns =
        hello.job_start_unix_ns() > 0 ? hello.job_start_unix_ns() : hello.start_unix_ns();
    started.name = hello.job_name();
    started.reference = claim.reference;
    started.labels = claim.labels;
    events.push_back(std::move(started));
  } else if (!claimed.news.empty()) {
    // Who made the job known (an option, a drop file, another rank) did not say them.
    JobEvent labels;
    labels.kind = JobEvent::Kind::kStarted;
    labels.time_ns = hello.start_unix_ns();
    labels.labels = claimed.news;
    events.push_back(std::move(labels));
  }
  PITWALL_LOG(kInfo, "collector", "hello of rank ", hello.rank(), " of job ", Quote(claimed.job_id),
              ", pid ", peer.pid);
  launches_.Started(claimed.job_id, source->identity().process, !HasRank(claimed.job_id));
  source->SetResends(hello.keeps_until_written());
  source->SetCaptures(hello.captures());
  const std::optional<ClientCursor> durable =
      sender_->cursors()->Find(claimed.job_id, source_name, hello.boot_id());
  source->Announce(std::move(events));
  // After the client, whose start the node's promise may have passed; before anything it promises.
  if (announcer_ != nullptr)
    announcer_->Announce(claimed.job_id, claimed.owner, claimed.owner_declared);
  const uint64_t received = source->received();
  sources_[client] = std::move(source);
  bindings_->Announced(client);
  if (on_rank_ != nullptr) on_rank_(sources_[client]->identity(), peer.pid);

  pb::CollectorMessage answer;
  answer.mutable_welcome()->set_node(options_.node);
  answer.mutable_welcome()->set_job_id(claimed.job_id);
  answer.mutable_welcome()->set_source(source_name);
  answer.mutable_welcome()->set_sends_written(true);
  if (hello.keeps_until_written()) {
    const uint64_t written = durable.has_value() ? durable->written : 0;
    answer.mutable_welcome()->set_written_sequence(written);
    answer.mutable_welcome()->set_received_sequence(std::max(written, received));
    waiting_[client] = {Key(claimed.job_id, source_name, hello.boot_id()), written};
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
    StepCaptures();
    news = captures_->Messages();
  }
  const uint64_t version = sender_->cursors()->version();
  if (version == cursors_seen_) return news;
  cursors_seen_ = version;
  for (auto& [client, waiting] : waiting_) {
    const auto& [job, source, boot_id] = waiting.key;
    const auto cursor = sender_->cursors()->Find(job, source, boot_id);
    if (!cursor.has_value() || cursor->written <= waiting.told) continue;
    waiting.told = cursor->written;
    pb::CollectorMessage message;
    message.mutable_written()->set_sequence(cursor->written);
    news.emplace_back(client, message.SerializeAsString());
  }
  return news;
}

void ClientSessions::Closed(uint64_t client) {
  waiting_.erase(client);
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
    Conclude(std::move(source), *end);
  } else {
    PITWALL_LOG(kWarning, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
                " closed its connection without goodbye");
    if (identity.process.self.pid > 0) closed_at_ns_ = clock_.MonotonicNs();
    Retain(std::move(source));
  }
  counters_->clients_lost.fetch_add(1, std::memory_order_relaxed);  // whoever sees it sees the rest
}

bool ClientSessions::HasRank(const std::string& job) const {
  const auto of_job = [&job](const std::unique_ptr<RankSource>& source) {
    return source != nullptr && source->identity().job == job;
  };
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const auto& entry) { return of_job(entry.second); }) ||
         leaving_.Has(job) || std::any_of(retained_.begin(), retained_.end(), of_job);
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
  for (auto it = retained_.begin(); it != retained_.end();) {
    const auto end = processes_.EndOf((*it)->identity().process);
    if (end.has_value()) {
      Conclude(std::move(*it), *end);
      it = retained_.erase(it);
      continue;
    }
    watched.push_back(&(*it)->identity().process);
    here.insert((*it)->identity().job);
    ++it;
  }
  for (LeavingRanks::Done& done : leaving_.TakeDone(&processes_, clock_.MonotonicNs()))
    Conclude(std::move(done));
  leaving_.ListTo(&watched, &here);
  processes_.ReadOomCounts(watched);
  launches_.Patrol(here, time_.Now());
}

int ClientSessions::PatrolMs() const {
  if (captures_ != nullptr && captures_->active()) return NodeCaptures::kStepMs;
  const int64_t newest_ns = std::max(closed_at_ns_, leaving_.newest_ns());
  return clock_.MonotonicNs() - newest_ns < kEndsWithinNs ? 10 : 250;
}

}  // namespace pitwall::collector
