#include "services/loadgen/socket_load.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/loadgen/noise.h"

namespace pitwall::loadgen {
namespace {

namespace pb = client::v1;

constexpr int64_t kUpdateNs = 500 * kNanosPerMilli;
constexpr int kPatienceMs = 10'000;  // timeout of a write, and of the wait for the welcome
constexpr size_t kMaxAnswer = 4u << 20;

std::string Framed(const pb::ClientMessage& message) {
  const std::string body = message.SerializeAsString();
  std::string out;
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(body.size() >> shift & 0xff));
  return out + body;
}

bool OverSocket(FaultKind kind) {
  return kind == FaultKind::kStraggler || kind == FaultKind::kStall || kind == FaultKind::kHang ||
         kind == FaultKind::kNan;
}

}  // namespace

struct SocketLoad::Rank {
  ~Rank() {
    if (fd >= 0) ::close(fd);
  }
  std::string job;
  int64_t rank = 0;
  int64_t world = 0;
  std::string boot_id;
  int64_t start_ns = 0;
  int fd = -1;
  bool welcomed = false;
  std::string received;
  uint64_t sequence = 0;
  std::unique_ptr<RankWalk> walk;
};

struct SocketLoad::Job {
  std::vector<Planted> planted;
  std::vector<bool> reported;
  std::unique_ptr<Training> training;
  std::vector<std::unique_ptr<Rank>> ranks;
};

SocketLoad::SocketLoad(const LoadPlan& plan, std::string path, Clock& clock)
    : plan_(plan), path_(std::move(path)), clock_(clock) {}

SocketLoad::~SocketLoad() = default;

Status SocketLoad::Connect(Rank* rank) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path))
    return InvalidArgument(Cat("--socket ", path_, ": longer than ", sizeof(address.sun_path) - 1,
                               " bytes; use a shorter path"));
  std::memcpy(address.sun_path, path_.c_str(), path_.size());
  rank->fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (rank->fd < 0)
    return absl::ResourceExhaustedError(Cat("rank ", rank->rank, ": socket cannot be created (",
                                            std::strerror(errno), "); raise ulimit -n"));
  if (::connect(rank->fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return absl::UnavailableError(Cat("--socket ", path_, ": no collector is listening (",
                                      std::strerror(errno), "); start one with --socket"));
  pb::ClientMessage message;
  pb::Hello& hello = *message.mutable_hello();
  hello.set_protocol(1);
  hello.set_job_id(rank->job);
  hello.set_job_name(rank->job);
  hello.set_job_start_unix_ns(plan_.start_ns);
  hello.set_rank(static_cast<uint32_t>(rank->rank));
  hello.set_world_size(static_cast<uint32_t>(rank->world));
  hello.set_boot_id(rank->boot_id);
  hello.set_start_unix_ns(rank->start_ns);
  hello.set_pid(::getpid());
  hello.set_client("pitwall-loadgen");
  return Write(rank, Framed(message));
}

Status SocketLoad::Write(Rank* rank, const std::string& message) {
  for (size_t at = 0; at < message.size();) {
    const ssize_t done = ::send(rank->fd, message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (done > 0) {
      at += static_cast<size_t>(done);
      continue;
    }
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno != EAGAIN) {
      const int error = errno;
      if (Status drained = Drain(rank); !drained.ok())
        return drained;  // the collector's pending reply may contain the reason
      return absl::UnavailableError(
          Cat("rank ", rank->rank, " of ", rank->job, ": ", std::strerror(error)));
    }
    pollfd wait{rank->fd, POLLOUT, 0};
    if (::poll(&wait, 1, kPatienceMs) == 0)
      return absl::UnavailableError(Cat("rank ", rank->rank, " of ", rank->job,
                                        ": the collector has not read data for 10 s"));
  }
  return Drain(rank);
}

// Reads and handles all received messages. Returns an error if the collector rejected the rank.
Status SocketLoad::Drain(Rank* rank) {
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::recv(rank->fd, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    rank->received.append(buffer, static_cast<size_t>(got));
    while (rank->received.size() >= 4) {
      size_t size = 0;
      for (size_t i = 0; i < 4; ++i)
        size |= static_cast<size_t>(static_cast<unsigned char>(rank->received[i])) << (8 * i);
      if (size > kMaxAnswer) return absl::DataLossError("the collector's reply is malformed");
      if (rank->received.size() < 4 + size) break;
      pb::CollectorMessage message;
      if (!message.ParseFromArray(rank->received.data() + 4, static_cast<int>(size)))
        return absl::DataLossError("the collector's reply is malformed");
      rank->received.erase(0, 4 + size);
      if (message.has_refused())
        return absl::UnavailableError(Cat("rank ", rank->rank, " of ", rank->job, " was rejected (",
                                          message.refused().reason(),
                                          "): ", message.refused().message()));
      rank->welcomed |= message.has_welcome();
    }
  }
  return OkStatus();
}

Status SocketLoad::Update(Rank* rank, int64_t until_ns) {
  RankNews news;
  rank->walk->Take(until_ns, &news);
  pb::ClientMessage message;
  pb::Update& update = *message.mutable_update();
  update.set_sequence(++rank->sequence);
  update.set_promise_unix_ns(until_ns);
  for (const Span& in : news.spans) {
    pb::Span& span = *update.add_spans();
    span.set_kind(in.kind == Span::Kind::kStep ? pb::SPAN_KIND_STEP : pb::SPAN_KIND_PHASE);
    span.set_name(in.name);
    span.set_start_unix_ns(in.start.ns());
    span.set_duration_ns((in.end - in.start).ns());
    span.set_step_plus_one(static_cast<uint64_t>(in.step + 1));
    span.set_mode(in.mode);
  }
  for (const steps::LoggedValue& in : news.values) {
    pb::Value& value = *update.add_values();
    value.set_metric(in.metric);
    value.set_value(in.value);
    value.set_time_unix_ns(in.time_ns);
    value.set_step_plus_one(static_cast<uint64_t>(in.step + 1));
    value.set_mode(in.mode);
  }
  if (news.below_step > 0) {
    pb::StepPromise& promise = *update.add_step_promises();
    promise.set_mode(std::string(kTrainMode));
    promise.set_below_step(static_cast<uint64_t>(news.below_step));
  }
  update.set_phase(std::string(news.phase));
  update.set_phase_since_unix_ns(news.phase_since_ns);
  if (news.step != kNoStep) {
    update.set_step_plus_one(static_cast<uint64_t>(news.step + 1));
    update.set_mode(std::string(kTrainMode));
  }
  ++totals_.updates;
  totals_.spans += news.spans.size();
  totals_.values += news.values.size();
  return Write(rank, Framed(message));
}

void SocketLoad::Report(Job* job, const std::function<void(const Planted&)>& begun) {
  for (size_t i = 0; i < job->planted.size(); ++i) {
    if (job->reported[i] || job->planted[i].from_step < 0) continue;
    job->reported[i] = true;
    if (begun != nullptr) begun(job->planted[i]);
  }
}

Status SocketLoad::Run(const std::function<void(const Planted&)>& begun,
                       const std::atomic<bool>* stop) {
  for (const Fault& fault : plan_.faults) {
    if (!OverSocket(fault.kind))
      return InvalidArgument(
          Cat("--fault ", FaultName(fault.kind),
              ": cannot be simulated over a socket because the collector "
              "observes processes and devices itself; use --data-dir or --brokers"));
  }
  for (int64_t j = 0; j < plan_.jobs; ++j) {
    auto job = std::make_unique<Job>();
    const std::string id = Cat(plan_.name, "-", j);
    for (const Fault& fault : plan_.faults) {
      if (fault.job != j) continue;
      Planted planted;
      planted.fault = fault;
      planted.job = id;
      planted.rank = fault.rank;
      planted.from_ns =
          fault.from_ns >= 0 ? plan_.start_ns + std::max<int64_t>(fault.from_ns, 1) : 0;
      job->planted.push_back(std::move(planted));
    }
    job->reported.resize(job->planted.size());
    const uint64_t seed = Mix(plan_.seed, static_cast<uint64_t>(j), 0);
    job->training =
        std::make_unique<Training>(plan_, Mix(seed, 0x7a, 1), plan_.start_ns + kNanosPerSecond,
                                   std::span<Planted>(job->planted));
    for (int64_t r = 0; r < plan_.ranks_of_job(); ++r) {
      auto rank = std::make_unique<Rank>();
      rank->job = id;
      rank->rank = r;
      rank->world = plan_.ranks_of_job();
      rank->boot_id = StableHashHex(Cat(plan_.start_ns, "/", seed, "/", r));
      rank->start_ns = plan_.start_ns;
      rank->walk = std::make_unique<RankWalk>(plan_, Mix(seed, 0x3a, 1), job->training.get(), r);
      RETURN_IF_ERROR(Connect(rank.get()));
      ++totals_.ranks;
      job->ranks.push_back(std::move(rank));
    }
    jobs_.push_back(std::move(job));
  }
  const std::unique_ptr<Wakeup> wakeup = clock_.NewWakeup();
  const int64_t end_ns = plan_.start_ns + plan_.duration_ns;
  bool over = false;
  while (!over) {
    const int64_t now_ns = std::min(clock_.WallNs(), end_ns);
    over = now_ns >= end_ns || (stop != nullptr && stop->load());
    bool all_finished = true;
    for (const auto& job : jobs_) {
      for (const auto& rank : job->ranks) RETURN_IF_ERROR(Update(rank.get(), now_ns));
      Report(job.get(), begun);
      all_finished &= job->training->finished_ns().value_or(kNever) <= now_ns;
    }
    over |= all_finished;
    if (!over) wakeup->Wait(kUpdateNs);
  }
  for (const auto& job : jobs_) {
    for (const auto& rank : job->ranks) {
      pb::ClientMessage message;
      message.mutable_goodbye()->set_reason("completed");
      RETURN_IF_ERROR(Write(rank.get(), Framed(message)));
      if (!rank->welcomed)
        return absl::UnavailableError(Cat("rank ", rank->rank, " of ", rank->job,
                                          " has not received a welcome from the collector"));
    }
  }
  return OkStatus();
}

}  // namespace pitwall::loadgen
