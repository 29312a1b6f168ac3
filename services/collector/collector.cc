#include "services/collector/collector.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/collector/capture/capture_state_series.h"
#include "services/collector/capture/node_captures.h"
#include "services/collector/clients/client_server.h"
#include "services/collector/clients/client_sessions.h"
#include "services/collector/gpu/gpu_monitor.h"
#include "services/collector/jobs/job_file_directory.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/jobs/owner_name.h"
#include "services/collector/lifecycle.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/pods/pod_status_events.h"
#include "services/collector/pods/pod_watch.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/collector/publishing/publisher.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/collector/sampler.h"
#include "services/io/topics.h"
#include "services/model/owner.h"
#include "services/self_metrics/probe.h"

namespace pitwall::collector {
namespace {

std::string RandomBootId() {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = random();
    for (int k = 0; k < 4; ++k) bytes.push_back(static_cast<char>(word >> (8 * k)));
  }
  return Hex(bytes);
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

BindingOptions BindingsOf(const Options& options) {
  BindingOptions out;
  out.completed_grace_ns = options.grace.completed_ns;
  out.failed_grace_ns = options.grace.failed_ns;
  out.lost_grace_ns = options.grace.lost_ns;
  out.max_jobs = options.limits.jobs;
  out.max_jobs_per_owner = options.limits.jobs_per_owner;
  return out;
}

PublisherOptions PublisherOf(const Options& options) {
  PublisherOptions out;
  out.topic = std::string(kTelemetryTopic);
  out.queue_bytes = options.queue_bytes;
  out.spool_dir = options.spool_dir;
  out.spool_bytes = options.spool_bytes;
  return out;
}

SessionsOptions SessionsOf(const Options& options) {
  SessionsOptions out;
  out.node = options.node;
  out.root = options.root;
  out.join_slack_ns = options.join_slack_ns;
  return out;
}

ServerOptions ServerOf(const Options& options) {
  ServerOptions out;
  out.path = options.socket_path;
  out.root = options.root;
  out.mode = options.socket_mode;
  out.max_clients = options.limits.clients;
  out.max_clients_per_owner = options.limits.clients_per_owner;
  out.bytes_per_second_per_owner = options.limits.bytes_per_second_per_owner;
  out.hello_within_ns = options.limits.hello_timeout_ns;
  out.idle_ns = options.limits.idle_timeout_ns;
  if (!options.socket_group.empty()) out.group = *ParseGroup(options.socket_group);
  return out;
}

Status CheckLimits(const Options::Limits& limits) {
  const auto check = [](std::string_view name, size_t value, size_t most) {
    if (value >= 1 && value <= most) return OkStatus();
    return InvalidArgument(
        Cat("limits.", name, " must be between 1 and ", most, " (got ", value, ")"));
  };
  RETURN_IF_ERROR(check("clients", limits.clients, 65536));
  RETURN_IF_ERROR(check("clients_per_owner", limits.clients_per_owner, 65536));
  RETURN_IF_ERROR(
      check("bytes_per_second_per_owner", limits.bytes_per_second_per_owner, size_t{1} << 40));
  RETURN_IF_ERROR(check("jobs", limits.jobs, 10000));
  RETURN_IF_ERROR(check("jobs_per_owner", limits.jobs_per_owner, 10000));
  if (limits.hello_timeout_ns < kNanosPerSecond || limits.idle_timeout_ns < 5 * kNanosPerSecond) {
    return InvalidArgument(
        "limits.hello_timeout must be at least 1s; limits.idle_timeout must be at least 5s because "
        "clients send a heartbeat every second");
  }
  return OkStatus();
}

// Without a socket, no client can join late.
int64_t SlackOf(const Options& options) {
  return options.socket_path.empty() ? 0 : options.join_slack_ns;
}

NodeCapturesOptions CapturesOf(const Options& options) {
  NodeCapturesOptions out;
  out.node = options.node;
  out.root = options.root;
  out.deliver = options.deliver_capture;
  out.ask = options.ask_capture;
  return out;
}

SamplerOptions SamplerOf(const Options& options) {
  SamplerOptions out;
  out.node = options.node;
  out.root = options.root;
  out.interval_ns = options.interval_ns;
  out.join_slack_ns = SlackOf(options);
  return out;
}

}  // namespace

struct Collector::Impl {
  Impl(Options given, Clock& clock, Appender* appender, self_metrics::Exposition* exposition)
      : options(std::move(given)),
        time(clock),
        bindings(BindingsOf(options)),
        publisher(PublisherOf(options), clock, appender, &counters, &cursors),
        rank_sender(&publisher),
        node_sender(&publisher),
        announcer(options.node, SlackOf(options), options.new_boot_id, &publisher),
        capture_states(clock),
        captures(CapturesOf(options), time, clock, &counters, &capture_states),
        sessions(SessionsOf(options), &bindings, &rank_sender, &announcer, time, clock, &counters),
        server(ServerOf(options), &sessions, clock, &counters),
        drop_folder(options.drop_dir, &counters),
        gpus(options.nvml_library, clock, &counters),
        sampler(SamplerOf(options), clock, &time, &bindings, options.gpus ? &gpus : nullptr,
                options.drop_dir.empty() ? nullptr : &drop_folder, &announcer, &node_sender,
                &counters, &capture_states),
        pod_events(options.node, options.new_boot_id(), &bindings, &publisher, time),
        lifecycle(clock),
        probe(exposition) {
    counters.AddMetrics(&probe);
    for (const JobDeclaration& job : options.jobs) bindings.BindOption(job);
    gpus.SetPeriod(options.interval_ns);
    sessions.SetCaptures(&captures);
    if (!options.pods.url.empty()) {
      pods = std::make_unique<PodWatch>(
          PodWatchOptions{.url = options.pods.url,
                          .token_file = options.pods.token_file,
                          .owners = options.pods.owners,
                          .root = options.root},
          &clock, options.pods.transport, [this] { return pod_events.Here(); },
          [this](const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end) {
            pod_events.Publish(rank, end);
          },
          [this](const PodWatch::Rank& rank, const JobReference& object) {
            bindings.SetObject(rank.job, object);
          });
      sessions.OnRank([this](const RankSource::Identity& rank, int64_t pid) {
        pods->Arrive({rank.job, rank.owner, rank.owner_declared, rank.info.rank, pid});
      });
    }
  }

  Status Start();
  void Stop();

  const Options options;
  collector::Counters counters;
  MonotonicEventClock time;
  JobRegistry bindings;
  ClientCursors cursors;
  Publisher publisher;
  BatchSender rank_sender;  // used by the socket thread
  BatchSender node_sender;  // used by the sampler thread
  NodeAnnouncer announcer;
  CaptureStates capture_states;
  NodeCaptures captures;
  ClientSessions sessions;
  ClientServer server;
  JobFileDirectory drop_folder;
  GpuMonitor gpus;
  Sampler sampler;
  PodStatusEvents pod_events;
  std::unique_ptr<PodWatch> pods;  // if null, pods are not watched
  Lifecycle lifecycle;
  self_metrics::Probe probe;
};

const std::vector<int64_t>& Collector::Intervals() {
  static const auto& intervals =
      *new std::vector<int64_t>{100 * kNanosPerMilli, 200 * kNanosPerMilli, 500 * kNanosPerMilli,
                                kNanosPerSecond,      5 * kNanosPerSecond,  60 * kNanosPerSecond};
  return intervals;
}

StatusOr<std::unique_ptr<Collector>> Collector::Create(const Options& given, Clock& clock,
                                                       Appender* appender,
                                                       self_metrics::Exposition* exposition) {
  Options options = given;
  if (options.node.empty()) options.node = HostName();
  if (options.node.empty() || options.node.size() > 253) {
    return InvalidArgument(Cat("node must be a valid node name (got ", Quote(options.node), ")"));
  }
  const auto& intervals = Intervals();
  if (std::find(intervals.begin(), intervals.end(), options.interval_ns) == intervals.end()) {
    return InvalidArgument(Cat("interval must be 100ms, 200ms, 500ms, 1s, 5s, or 1m (got ",
                               FormatDuration(options.interval_ns), ")"));
  }
  for (const JobDeclaration& job : options.jobs) {
    RETURN_IF_ERROR(Annotate(CheckJobId(job.id), "job"));
    if (!job.owner.empty()) RETURN_IF_ERROR(Annotate(CheckOwner(job.owner), "job"));
    for (const std::string& member : job.members)
      RETURN_IF_ERROR(Annotate(CheckOwner(member), "job"));
  }
  RETURN_IF_ERROR(CheckLimits(options.limits));
  if (options.socket_mode > 0777) return InvalidArgument("socket_mode must be at most 0777");
  if (!options.socket_group.empty())
    RETURN_IF_ERROR(Annotate(ParseGroup(options.socket_group).status(), "socket_group"));
  if (!options.spool_dir.empty() && options.spool_bytes < (1u << 20)) {
    return InvalidArgument("spool_bytes must be at least 1 MiB");
  }
  if (options.queue_bytes < (64u << 10))
    return InvalidArgument("queue_bytes must be at least 64 KiB");
  if (options.join_slack_ns < 0 || options.join_slack_ns > 5 * kNanosPerSecond) {
    return InvalidArgument("join_slack must be between 0 and 5 s");
  }
  if (options.new_boot_id == nullptr) options.new_boot_id = RandomBootId;
  return std::unique_ptr<Collector>(
      new Collector(std::make_unique<Impl>(std::move(options), clock, appender, exposition)));
}

Collector::Collector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collector::~Collector() { Stop(); }

Status Collector::Start() {
  return impl_->lifecycle.Start([this] { return impl_->Start(); });
}

Status Collector::Impl::Start() {
  RETURN_IF_ERROR(publisher.Start());
  if (!options.socket_path.empty()) {
    sessions.TakeUpKnown();
    if (Status status = server.Start(); !status.ok()) {
      publisher.Stop();
      return status;
    }
  }
  if (options.gpus) gpus.Start();
  sampler.Start();
  if (pods != nullptr) pods->Start();
  return OkStatus();
}

void Collector::Stop() {
  impl_->lifecycle.Stop([this] { impl_->Stop(); });
}

void Collector::Impl::Stop() {
  // The ranks receive no goodbye, because they keep running and the next collector resumes them.
  server.Stop();
  if (pods != nullptr) pods->Stop();
  sampler.Stop();
  publisher.Stop();
  gpus.Stop();  // last, because an unresponsive driver may delay it
}

Status Collector::Run() {
  RETURN_IF_ERROR(Start());
  impl_->lifecycle.Await();
  Stop();
  return OkStatus();
}

void Collector::RequestCapture(CaptureRequest request) {
  impl_->captures.Request(std::move(request));
}

void Collector::RequestStop() { impl_->lifecycle.RequestStop(); }

Status Collector::SetInterval(int64_t interval_ns) {
  const auto& intervals = Intervals();
  if (std::find(intervals.begin(), intervals.end(), interval_ns) == intervals.end()) {
    return InvalidArgument(Cat("interval must be 100ms, 200ms, 500ms, 1s, 5s, or 1m (got ",
                               FormatDuration(interval_ns), ")"));
  }
  impl_->sampler.SetInterval(interval_ns);
  impl_->gpus.SetPeriod(interval_ns);
  return OkStatus();
}

Status Collector::Health() const { return Annotate(impl_->publisher.Health(), "collector"); }

std::vector<std::string> Collector::BoundJobs() const {
  uint64_t version;
  std::vector<std::string> ids;
  for (const BoundJob& job : impl_->bindings.Jobs(&version)) ids.push_back(job.id);
  return ids;
}

const std::string& Collector::node() const { return impl_->options.node; }

}  // namespace pitwall::collector
