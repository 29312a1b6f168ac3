#include "services/loadgen/load_job.h"

#include <algorithm>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/loadgen/noise.h"
#include "services/model/position.h"

namespace pitwall::loadgen {
namespace {

constexpr int64_t kBeatNs = kNanosPerSecond;
constexpr int64_t kPublishNs = 500 * kNanosPerMilli;
constexpr int64_t kFlushNs = 500 * kNanosPerMilli;  // flush interval of a client
constexpr int64_t kNodeSchemaRepeatNs = 5 * kNanosPerSecond;
constexpr int64_t kTeardownNs = 3 * kNanosPerSecond;  // delay until the other ranks are terminated
constexpr int64_t kLauncherNs = 4 * kNanosPerSecond;
constexpr int64_t kLeaveNs = 6 * kNanosPerSecond;  // delay until the nodes leave the job
constexpr int64_t kTerminated = 15;

std::string BootId(uint64_t seed, std::string_view what) {
  return StableHashHex(Cat(seed, "/", what));
}

}  // namespace

LoadJob::LoadJob(const LoadPlan& plan, uint64_t seed, std::string id, int64_t start_ns,
                 int64_t end_ns, std::vector<Fault> faults)
    : plan_(plan),
      seed_(seed),
      id_(std::move(id)),
      start_ns_(start_ns),
      end_ns_(end_ns),
      ranks_per_node_(std::max<int64_t>(1, (plan.ranks_of_job() + plan.nodes - 1) / plan.nodes)) {
  for (int64_t n = 0; n < plan.nodes; ++n) {
    Node& node = nodes_.emplace_back();
    node.name = Cat(id_, "-n", n);
    node.source.job = id_;
    node.source.source = Cat("node@", node.name);
    node.source.boot_id = BootId(seed_, node.source.source);
    node.source.info.kind = SourceKind::kNode;
    node.source.info.node = node.name;
    node.source.info.start = EventTime::FromNs(start_ns_);
    node.source.info.interval = Duration::Nanos(plan.interval_ns);
    node.series =
        std::make_unique<NodeSeries>(plan, Mix(seed_, 0x40, static_cast<uint64_t>(n)), node.name);
  }
  ranks_.resize(static_cast<size_t>(plan.ranks_of_job()));
  for (Fault& fault : faults) {
    Planted planted;
    planted.job = id_;
    planted.rank = fault.rank;
    planted.from_ns = fault.from_ns >= 0 ? start_ns_ + std::max<int64_t>(fault.from_ns, 1) : 0;
    if (fault.rank >= 0) planted.node = nodes_[static_cast<size_t>(NodeOf(fault.rank))].name;
    if (fault.kind == FaultKind::kGpuDrop) planted.gpu = fault.rank % ranks_per_node_ % plan.gpus;
    planted.fault = std::move(fault);
    planted_.push_back(std::move(planted));
  }
  reported_.resize(planted_.size());
  BeginAttempt(start_ns_);
}

void LoadJob::BeginAttempt(int64_t start_ns) {
  if (training_ != nullptr) old_trainings_.push_back(std::move(training_));
  ++attempt_;
  attempt_start_ns_ = start_ns;
  training_ = std::make_unique<Training>(
      plan_, Mix(seed_, 0x7a, attempt_), start_ns + kNanosPerSecond,
      attempt_ == 1 ? std::span<Planted>(planted_) : std::span<Planted>());
}

int64_t LoadJob::FirstNs(size_t actor) const {
  // A node announces itself before its ranks do. The ranks start at different offsets so that they
  // do not flush at the same time.
  if (actor < nodes_.size()) return start_ns_;
  return start_ns_ + kNanosPerMilli * static_cast<int64_t>(1 + Mix(seed_, actor) % 400);
}

int64_t LoadJob::over_ns() const {
  if (ranks_.empty()) return end_ns_;
  return std::min(end_ns_, training_->finished_ns().value_or(kNever));
}

int64_t LoadJob::Act(size_t actor, int64_t at_ns, const Emit& emit) {
  return actor < nodes_.size()
             ? ActNode(&nodes_[actor], actor, at_ns, emit)
             : ActRank(static_cast<int64_t>(actor - nodes_.size()), actor, at_ns, emit);
}

int64_t LoadJob::ActNode(Node* node, size_t actor, int64_t at_ns, const Emit& emit) {
  const int64_t base = std::min(plan_.interval_ns, kBeatNs);
  if (!node->announced) {
    node->announced = true;
    node->published_ns = FloorTo(at_ns, base);
    emit(at_ns, actor, BeginBatch(node->source, &node->sequence, node->published_ns - 1));
    return NextAfter(at_ns, base);
  }
  const bool died = training_->died_ns().has_value() && training_->restart_ns() < 0 &&
                    at_ns >= *training_->died_ns() + kLeaveNs;
  const bool over = at_ns >= over_ns() + kFlushNs;
  if (died || over) {
    PublishNode(node, actor, at_ns, true, over && !died, emit);
    return kNever;
  }
  if (at_ns % plan_.interval_ns == 0) SampleNode(node, at_ns);
  if (at_ns - node->published_ns >= kPublishNs) PublishNode(node, actor, at_ns, false, false, emit);
  return NextAfter(at_ns, base);
}

void LoadJob::SampleNode(Node* node, int64_t at_ns) {
  NodeMood mood;
  const auto died = training_->died_ns();
  const bool between = at_ns < attempt_start_ns_ || (died.has_value() && at_ns >= *died);
  mood.working = ranks_.empty() || !(between || training_->is_stalled(at_ns));
  node->ranks.clear();
  node->leaked.clear();
  const int64_t index = node - nodes_.data();
  for (int64_t r = index * ranks_per_node_;
       r < std::min<int64_t>((index + 1) * ranks_per_node_, static_cast<int64_t>(ranks_.size()));
       ++r) {
    const Rank& rank = ranks_[static_cast<size_t>(r)];
    if (rank.attempt == 0 || rank.lost) continue;
    double leaked = 0;
    for (const Planted& planted : planted_) {
      if (planted.fault.kind != FaultKind::kLeak || planted.rank != r || attempt_ != 1 ||
          planted.from_ns == 0 || at_ns < planted.from_ns)
        continue;
      const int64_t until = planted.to_ns > 0 ? std::min(at_ns, planted.to_ns) : at_ns;
      leaked += std::min(0.85, planted.fault.rate * static_cast<double>(until - planted.from_ns) /
                                   3.6e12) *
                static_cast<double>(plan_.node_memory_bytes);
    }
    node->ranks.push_back(r);
    node->leaked.push_back(leaked);
  }
  for (const Planted& planted : planted_) {
    if (planted.fault.kind == FaultKind::kGpuDrop && planted.node == node->name &&
        planted.from_ns > 0 && at_ns >= planted.from_ns)
      mood.lost_gpu = planted.gpu;
  }
  mood.ranks = node->ranks;
  mood.leaked_bytes = node->leaked;
  node->series->Sample(at_ns, mood);
}

void LoadJob::PublishNode(Node* node, size_t actor, int64_t at_ns, bool goodbye, bool ended,
                          const Emit& emit) {
  const int64_t base = std::min(plan_.interval_ns, kBeatNs);
  Batch batch = BeginBatch(node->source, &node->sequence, FloorTo(at_ns, base));
  const bool repeat = at_ns - node->schemas_sent_ns >= kNodeSchemaRepeatNs;
  if (repeat) node->schemas_sent_ns = at_ns;
  node->series->AppendTo(repeat, &batch);
  batch.goodbye = goodbye;
  if (ended) {
    JobEvent event;
    event.kind = JobEvent::Kind::kEnded;
    event.time = batch.promise;
    event.name = id_;
    event.reason = "completed";
    batch.events.push_back(std::move(event));
  }
  node->published_ns = at_ns;
  emit(at_ns, actor, batch);
}

int64_t LoadJob::ActRank(int64_t rank, size_t actor, int64_t at_ns, const Emit& emit) {
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  if (mine.lost) return ActLost(rank, actor, at_ns, emit);
  if (mine.attempt == 0 || mine.attempt < attempt_) {
    SourceName name;
    name.job = id_;
    const std::string& node = nodes_[static_cast<size_t>(NodeOf(rank))].name;
    name.source = Cat("rank-", rank, "@", node);
    name.boot_id = BootId(seed_, Cat(name.source, "/", attempt_));
    name.info.kind = SourceKind::kRank;
    name.info.node = node;
    name.info.rank = rank;
    name.info.start = EventTime::FromNs(at_ns);
    name.info.attempt = attempt_;
    mine.telemetry = std::make_unique<RankTelemetry>(std::move(name), plan_.ranks_of_job());
    mine.walk =
        std::make_unique<RankWalk>(plan_, Mix(seed_, 0x3a, attempt_), training_.get(), rank);
    mine.attempt = attempt_;
    JobEvent started;
    started.time = EventTime::FromNs(start_ns_);
    started.name = id_;
    emit(at_ns, actor,
         mine.telemetry->Announce(FirstOfNode(rank) ? std::optional(std::move(started))
                                                    : std::nullopt));
    return at_ns + kFlushNs;
  }
  // Generates the steps up to the given time. One of the steps may end the attempt.
  training_->Peek(rank, at_ns);
  const auto died = training_->died_ns();
  const bool dead = died.has_value() && rank == training_->dead_rank() && at_ns >= *died;
  const bool torn = died.has_value() && at_ns >= *died + kTeardownNs;
  if (dead || torn) {
    const int64_t ended = dead ? *died : *died + kTeardownNs;
    mine.walk->Take(ended, &news_);
    emit(at_ns, actor, mine.telemetry->Update(news_, ended));
    emit(at_ns, actor, mine.telemetry->Lost(ended, dead ? training_->dead_signal() : kTerminated));
    mine.lost = true;
    return std::max(at_ns, *died + kLauncherNs);
  }
  const int64_t over = over_ns();
  const int64_t until = std::min(at_ns, over);
  mine.walk->Take(until, &news_);
  emit(at_ns, actor, mine.telemetry->Update(news_, until));
  if (at_ns < over) return at_ns + kFlushNs;
  emit(at_ns, actor, mine.telemetry->Goodbye());
  return kNever;
}

// Reports the exit of the launcher, or starts the next attempt.
int64_t LoadJob::ActLost(int64_t rank, size_t actor, int64_t at_ns, const Emit& emit) {
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  if (mine.attempt == attempt_) {
    const int64_t died = *training_->died_ns();
    const int64_t restart = training_->restart_ns();
    if (restart < 0) {
      if (FirstOfNode(rank)) emit(at_ns, actor, mine.telemetry->LauncherGone(at_ns));
      return kNever;
    }
    const int64_t next = died + std::max(restart, kLauncherNs);
    if (at_ns < next) return next;
    if (next >= end_ns_) return kNever;
    BeginAttempt(next);
  }
  mine.lost = false;
  return ActRank(rank, actor, at_ns, emit);
}

std::vector<Planted> LoadJob::TakePlanted() {
  std::vector<Planted> out;
  for (size_t i = 0; i < planted_.size(); ++i) {
    if (reported_[i] || planted_[i].from_step < 0) continue;
    reported_[i] = true;
    out.push_back(planted_[i]);
  }
  return out;
}

}  // namespace pitwall::loadgen
