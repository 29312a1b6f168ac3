#include "services/app/host/service_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/http/client/curl_transport.h"
#include "services/adapters/http/client/standard_webhooks.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/adapters/mail/curl_mail_transport.h"
#include "services/app/config/receiver_config.h"
#include "services/app/config/rule_files.h"
#include "services/app/config/secret_ref.h"
#include "services/app/host/descriptor_limit.h"
#include "services/app/host/silence_routes.h"
#include "services/app/host/topic_creating_appender.h"
#include "services/app/text/action_text.h"
#include "services/base/duration.h"
#include "services/base/listen_address.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/system/random_hex.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/collector/jobs/owner_name.h"
#include "services/self_metrics/memory_limit.h"

namespace pitwall {

namespace {

processor::ProcessorOptions ProcessorOptionsOf(const Config& config, MemoryBudget* memory) {
  processor::ProcessorOptions options;
  options.telemetry_partitions = config.processor.partitions;
  // CheckConfig has already validated the share.
  if (const auto share = ParseShare(config.processor.share); share.ok()) options.share = *share;
  options.telemetry_retention_ms = config.log.retention_ns / kNanosPerMilli;
  options.partition.commit_interval_ns = config.processor.commit_interval_ns;
  options.partition.snapshot_interval_ns = config.processor.snapshot_interval_ns;
  options.partition.clock_ticks = config.processor.clock_ticks;
  options.partition.accept_log_reset = config.processor.accept_log_reset;
  options.partition.engine.max_job_bytes = static_cast<size_t>(config.processor.job_memory);
  options.partition.memory = memory;
  return options;
}

size_t BudgetOf(const MemoryConfig& config) {
  if (config.budget > 0) return static_cast<size_t>(config.budget);
  const self_metrics::MemoryLimit limit = self_metrics::FindMemoryLimit();
  // The remaining memory is for heap overhead, threads, queues, and snapshots while they are being
  // written.
  const size_t budget = limit.bytes == 0 ? size_t{4} << 30 : limit.bytes / 100 * 60;
  PITWALL_LOG(kInfo, "memory", "budget for jobs is ", budget >> 20, " MiB, 60% of ",
              limit.bytes >> 20, " MiB (", limit.source, "); set memory.budget to change it");
  return budget;
}

StatusOr<engine::CompiledRulesPtr> RulesOf(const RulesConfig& config) {
  return CompileNewRules(
      {.files = config.files, .overrides = config.overrides, .baselines = config.baseline},
      config.evaluation_interval_ns, {.limits = &config.limits});
}

// Logs a warning if the server would receive tokens over the network without encryption.
Status WarnWithoutTls(std::string_view what, const std::string& listen, const TlsConfig& tls) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(listen));
  if (!address.loopback && tls.certificate.empty()) {
    PITWALL_LOG(kWarning, what, listen, ": address is not loopback and is served without TLS (",
                what, ".tls); the token and all data are exposed on the network");
  }
  return OkStatus();
}

StatusOr<std::string> MakeToken() {
  StatusOr<std::string> token = RandomHex(24);
  if (!token.ok()) return Annotate(token.status(), "token cannot be generated; set token_file");
  return token;
}

// Creates a directory that only its owner can access. For an existing directory, removes all
// permissions of the group and others except execute, which is needed to reach the collector's
// socket.
Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return OkStatus();
  if (errno != EEXIST) return ErrnoStatus(errno, path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode) || (info.st_mode & 066) == 0 || info.st_uid != ::geteuid()) {
    return OkStatus();
  }
  if (::chmod(path.c_str(), info.st_mode & 07711) != 0) return ErrnoStatus(errno, path);
  PITWALL_LOG(kWarning, "start", path, ": was readable by other users; restricted it to its owner");
  return OkStatus();
}

}  // namespace

ServiceHost::ServiceHost(std::string service, const Roles& roles, Config config)
    : service_(std::move(service)), roles_(roles), config_(std::move(config)) {}

ServiceHost::~ServiceHost() { Stop(); }

Status ServiceHost::Start() {
  RETURN_IF_ERROR(CheckConfig(config_));
  RETURN_IF_ERROR(RaiseDescriptorLimit());
  // A separate insights process may serve the log of a stopped `pitwall standalone`. The log's lock
  // prevents two processes from opening it.
  if (config_.log.kind == "embedded" && service_ != "standalone" && service_ != "insights") {
    return InvalidArgument(Cat("log.kind: embedded supports one process (got service ", service_,
                               "); set log.kind to kafka, or run pitwall standalone"));
  }
  for (self_metrics::Registration& registration : self_metrics::AddProcessMetrics(&exposition_)) {
    registrations_.push_back(std::move(registration));
  }
  registrations_.push_back(self_metrics::AddBuildInfo(&exposition_, PITWALL_VERSION, service_));
  RETURN_IF_ERROR(MakeDirectory(config_.data_dir));
  RETURN_IF_ERROR(OpenLog());
  if (roles_.processor || roles_.notifier || roles_.executor || roles_.insights) {
    processor::ProcessorOptions topics = ProcessorOptionsOf(config_, nullptr);
    // A process that only reads the log must not delete any records, even if all records are older
    // than the retention time.
    if (service_ == "insights" && config_.log.kind == "embedded")
      topics.telemetry_retention_ms = -1;
    RETURN_IF_ERROR(processor::EnsureTopics(log_.get(), topics));
  }
  if (roles_.processor) RETURN_IF_ERROR(StartProcessor());
  if (roles_.notifier) RETURN_IF_ERROR(StartNotifier());
  if (roles_.executor) RETURN_IF_ERROR(StartExecutor());
  if (roles_.insights) RETURN_IF_ERROR(StartInsights());
  if (roles_.collector) RETURN_IF_ERROR(StartCollector());
  RETURN_IF_ERROR(StartHttp());
  readiness_wakeup_ = clock_.NewWakeup();
  readiness_thread_ = std::thread([this] { WatchReadiness(); });
  return OkStatus();
}

Status ServiceHost::OpenLog() {
  if (config_.log.kind == "kafka") {
    kafka::KafkaLogOptions options;
    options.brokers = config_.log.brokers;
    options.client_id = Cat("pitwall-", service_);
    ASSIGN_OR_RETURN(options.rdkafka, ReadSecrets(config_.log.rdkafka));
    ASSIGN_OR_RETURN(log_, kafka::OpenKafkaLog(options, &clock_));
    return OkStatus();
  }
  log::EmbeddedLogOptions options;
  options.dir = config_.data_dir + "/log";
  options.fsync = config_.log.fsync == "always"  ? log::FsyncPolicy::kAlways
                  : config_.log.fsync == "never" ? log::FsyncPolicy::kNever
                                                 : log::FsyncPolicy::kInterval;
  options.fsync_interval_ms = config_.log.fsync_interval_ns / kNanosPerMilli;
  options.segment_bytes = config_.log.segment_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<log::EmbeddedLog> embedded,
                   log::OpenEmbeddedLog(options, &clock_));
  embedded_log_ = embedded.get();
  log_ = std::move(embedded);
  RegisterLogMetrics();
  return OkStatus();
}

Status ServiceHost::StartProcessor() {
  memory_ = std::make_unique<MemoryBudget>(BudgetOf(config_.memory));
  processor_ = std::make_unique<processor::Processor>(&clock_, log_.get(),
                                                      ProcessorOptionsOf(config_, memory_.get()));
  parameters_ = std::make_unique<processor::ParameterChangeHandler>(
      &clock_, log_.get(), processor_.get(),
      processor::ParameterChangeOptions{.keep_ns = config_.log.retention_ns});
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr files, RulesOf(config_.rules));
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr rules, parameters_->Over(files));
  RETURN_IF_ERROR(processor_->Start(rules));
  RegisterProcessorMetrics();
  // A job whose records are read before a rule set is active starts with empty windows, so wait for
  // the rule set. With a backlog, the rule set may become active only after this wait.
  rules_in_force_.Set(rules);
  const std::unique_ptr<Wakeup> pause = clock_.NewWakeup();
  const int64_t deadline = clock_.MonotonicNs() + 3 * kNanosPerSecond;
  const auto in_force = [&] {
    const auto stats = processor_->stats();
    return std::all_of(stats.begin(), stats.end(),
                       [&](const auto& s) { return s.rule_set_hash == rules->hash(); });
  };
  while (!in_force() && clock_.MonotonicNs() < deadline) pause->Wait(10 * kNanosPerMilli);
  parameters_->Start([this](const engine::CompiledRulesPtr& fresh) { rules_in_force_.Set(fresh); });
  return OkStatus();
}

Status ServiceHost::Reload(const Config& fresh) {
  RETURN_IF_ERROR(CheckConfig(fresh));
  if (processor_ != nullptr) {
    ASSIGN_OR_RETURN(const engine::CompiledRulesPtr files, RulesOf(fresh.rules));
    const engine::CompiledRulesPtr before = rules_in_force_.Get();
    ASSIGN_OR_RETURN(const engine::CompiledRulesPtr rules, parameters_->SetFiles(files));
    const std::string& hash = rules->hash();
    if (before != nullptr && hash == before->hash()) {
      PITWALL_LOG(kInfo, "reload", "rules have not changed");
    } else {
      PITWALL_LOG(kInfo, "reload", "rule set ", hash, " becomes active");
    }
  }
  const int64_t interval_ns = fresh.collector.interval_ns;
  if (collector_ != nullptr && interval_ns != config_.collector.interval_ns) {
    RETURN_IF_ERROR(collector_->SetInterval(interval_ns));
    PITWALL_LOG(kInfo, "reload",
                "collector.interval: ", FormatDuration(config_.collector.interval_ns), " -> ",
                FormatDuration(interval_ns));
  }
  config_.rules = fresh.rules;
  config_.collector.interval_ns = interval_ns;
  if (PrintConfig(config_) != PrintConfig(fresh)) {
    PITWALL_LOG(
        kWarning, "reload",
        "only rules and collector.interval can change on reload; restart the service to apply "
        "other changes");
  }
  return OkStatus();
}

namespace {

StatusOr<std::string> PodsUrl(std::string url, std::string_view node) {
  constexpr std::string_view kNode = "{node}";
  if (node.empty() && url.find(kNode) != url.npos) {
    return InvalidArgument(
        "collector.pods.url: {node} is unknown, because collector.node is empty; set "
        "collector.node, or write the node name into the URL");
  }
  for (size_t at = url.find(kNode); at != url.npos; at = url.find(kNode, at + node.size()))
    url.replace(at, kNode.size(), node);
  return url;
}

}  // namespace

Status ServiceHost::StartCollector() {
  collector::Options options;
  options.node = config_.collector.node;
  options.interval_ns = config_.collector.interval_ns;
  for (const JobConfig& job : config_.collector.jobs) {
    collector::JobDeclaration option;
    option.id = job.id;
    option.name = job.name;
    option.reference = job.reference;
    const std::string place = Cat("collector.jobs: ", job.id);
    if (!job.owner.empty()) {
      auto owner = collector::ParseOwner(job.owner);
      if (!owner.ok()) return Annotate(owner.status(), place);
      option.owner = *std::move(owner);
    }
    for (const std::string& member : job.members) {
      auto owner = collector::ParseOwner(member);
      if (!owner.ok()) return Annotate(owner.status(), place);
      option.members.push_back(*std::move(owner));
    }
    options.jobs.push_back(std::move(option));
  }
  options.socket_path = config_.Socket();
  ASSIGN_OR_RETURN(options.socket_mode, ParseSocketMode(config_.collector.socket_mode));
  options.socket_group = config_.collector.socket_group;
  const CollectorLimitsConfig& limits = config_.collector.limits;
  options.limits = {
      .clients = static_cast<size_t>(limits.clients),
      .clients_per_owner = static_cast<size_t>(limits.clients_per_owner),
      .bytes_per_second_per_owner = static_cast<size_t>(limits.bytes_per_second_per_owner),
      .jobs = static_cast<size_t>(limits.jobs),
      .jobs_per_owner = static_cast<size_t>(limits.jobs_per_owner),
      .hello_timeout_ns = limits.hello_timeout_ns,
      .idle_timeout_ns = limits.idle_timeout_ns};
  options.drop_dir = config_.collector.drop_dir;
  if (const PodsConfig& pods = config_.collector.pods; !pods.url.empty()) {
    // Connections to any address are allowed because an administrator configured the server.
    ASSIGN_OR_RETURN(
        pods_transport_,
        http::MakeCurlTransport({.allowed_cidrs = {"0.0.0.0/0", "::/0"}, .ca_file = pods.ca_file}));
    ASSIGN_OR_RETURN(const std::string url, PodsUrl(pods.url, options.node));
    RETURN_IF_ERROR(Annotate(pods_transport_->CheckUrl(url), "collector.pods.url"));
    options.pods = {url, pods.token_file, pods_transport_.get(), pods.owners};
  }
  options.spool_dir = config_.SpoolDir();
  RETURN_IF_ERROR(MakeDirectory(options.spool_dir));
  options.spool_bytes = static_cast<uint64_t>(config_.collector.spool_bytes);
  options.gpus = config_.collector.gpus;
  ASSIGN_OR_RETURN(std::unique_ptr<Appender> inner, log_->OpenAppender());
  appender_ = std::make_unique<TopicCreatingAppender>(
      log_.get(), ProcessorOptionsOf(config_, nullptr), std::move(inner));
  capture_bridge_ =
      std::make_unique<collector::CaptureTopicBridge>(&clock_, log_.get(), appender_.get());
  options.deliver_capture = [this](const RankCapture& capture) {
    capture_bridge_->Deliver(capture);
  };
  options.ask_capture = [this](const CaptureRequest& request) {
    return capture_bridge_->Ask(request);
  };
  ASSIGN_OR_RETURN(collector_, collector::Collector::Create(options, clock_, appender_.get()));
  RETURN_IF_ERROR(collector_->Start());
  capture_bridge_->Start(
      [this](CaptureRequest request) { collector_->RequestCapture(std::move(request)); },
      [this](const ActionEvent& request) { FollowInterval(request); });
  PITWALL_LOG(kInfo, "collector", "clients connect to ", options.socket_path, " (PITWALL_SOCKET)");
  RegisterCollectorMetrics();
  return OkStatus();
}

// The requested interval applies until the next start or until a reload changes the configured
// interval.
void ServiceHost::FollowInterval(const ActionEvent& request) {
  const std::vector<std::string> jobs = collector_->BoundJobs();
  if (std::find(jobs.begin(), jobs.end(), request.job) == jobs.end()) return;
  const Status set = collector_->SetInterval(request.interval_ns);
  const std::string asked =
      Cat("job ", request.job, ": ", request.principal, " requested a sampling interval of ",
          FormatDuration(request.interval_ns));
  if (set.ok()) {
    PITWALL_LOG(kInfo, "collector", asked);
  } else {
    PITWALL_LOG(kWarning, "collector", asked, ": ", ToStd(set.message()));
  }
}

Status ServiceHost::StartNotifier() {
  notifier::NotifierOptions options;
  ASSIGN_OR_RETURN(options.receivers, ReceiversOf(config_, http::ReadSecret));
  const NotifierConfig& to = config_.notifier;
  if (!options.receivers.empty()) {
    ASSIGN_OR_RETURN(transport_, http::MakeCurlTransport({.allow_insecure = to.allow_insecure,
                                                          .allowed_cidrs = to.allowed_cidrs,
                                                          .ca_file = to.ca_file}));
    ASSIGN_OR_RETURN(mail_, mail::MakeCurlMailTransport({.allow_insecure = to.allow_insecure,
                                                         .allowed_cidrs = to.allowed_cidrs,
                                                         .ca_file = to.ca_file}));
  }
  ASSIGN_OR_RETURN(notifier_, notifier::Notifier::Make(
                                  &clock_, log_.get(),
                                  {.http = transport_.get(), .mail = mail_.get()}, options));
  RETURN_IF_ERROR(notifier_->Start());
  notifier_->RegisterMetrics(&exposition_);
  captures_ = std::make_unique<notifier::CaptureCoordinator>(&clock_, log_.get());
  RETURN_IF_ERROR(captures_->Start(notifier_.get()));
  captures_->RegisterMetrics(&exposition_);
  grpc_adapter::IssueServerOptions server;
  server.listen = config_.grpc.listen;
  server.captures = captures_.get();
  server.tls = {.certificate_file = config_.grpc.tls.certificate,
                .key_file = config_.grpc.tls.key,
                .client_ca_file = config_.grpc.tls.client_ca};
  RETURN_IF_ERROR(WarnWithoutTls("grpc", config_.grpc.listen, config_.grpc.tls));
  ASSIGN_OR_RETURN(server.tokens, Tokens(config_.grpc.listen, config_.grpc.token_file,
                                         config_.grpc.act_token_file, "gRPC"));
  server.max_watches = static_cast<size_t>(config_.grpc.max_watches);
  server.max_watches_per_address = static_cast<size_t>(config_.grpc.max_watches_per_address);
  server.handshake_timeout_ns = config_.grpc.handshake_timeout_ns;
  server.idle_timeout_ns = config_.grpc.idle_timeout_ns;
  ASSIGN_OR_RETURN(grpc_, grpc_adapter::IssueServer::Start(&clock_, notifier_.get(), server));
  PITWALL_LOG(kInfo, "grpc", "serving IssueService on ", config_.grpc.listen, ", port ",
              grpc_->port());
  return OkStatus();
}

StatusOr<AccessTokens> ServiceHost::Tokens(const std::string& listen, const std::string& view_place,
                                           const std::string& act_place, std::string_view what) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(listen));
  const auto token = [&](const std::string& place, std::string_view role) -> StatusOr<std::string> {
    if (!place.empty()) return ReadToken(place);
    if (address.loopback) return std::string();
    ASSIGN_OR_RETURN(std::string made, MakeToken());
    PrintError(Cat(what, " listens on an address other than loopback (", listen,
                   "); token of the role ", role, ", printed only once: ", made, "\n"));
    return made;
  };
  AccessTokens tokens;
  ASSIGN_OR_RETURN(tokens.view, token(view_place, "view"));
  ASSIGN_OR_RETURN(tokens.act, token(act_place, "act"));
  if (!tokens.empty() && tokens.view == tokens.act)
    return InvalidArgument(Cat(what, ": the view and act tokens must differ; change one of them"));
  return tokens;
}

void ServiceHost::WatchReadiness() {
  bool was_ready = false;
  while (!stopping_) {
    const bool ready = Ready().ok();
    if (grpc_ != nullptr) grpc_->SetServing(ready);
    if (ready && !was_ready) PITWALL_LOG(kInfo, service_, "ready");
    was_ready = ready;
    readiness_wakeup_->Wait((ready ? 1000 : 50) * kNanosPerMilli);
  }
}

Status ServiceHost::StartHttp() {
  std::vector<http::HttpRoute> routes;
  routes.push_back({.method = "GET",
                    .path = "/metrics",
                    .handler =
                        [this](const http::HttpRequest&) {
                          http::HttpResponse response;
                          response.content_type = self_metrics::Exposition::kContentType;
                          response.body = exposition_.Render();
                          return response;
                        },
                    .open = true,
                    .lane = http::Lane::kHealth});
  routes.push_back({.method = "GET",
                    .path = "/healthz",
                    .handler =
                        [this](const http::HttpRequest&) {
                          Status health = LogHealth();
                          if (health.ok() && notifier_ != nullptr) health = notifier_->Health();
                          if (health.ok() && executor_ != nullptr) health = executor_->Health();
                          if (health.ok() && processor_ != nullptr) {
                            if (const auto faults = processor_->faults(); !faults.empty())
                              health = Unavailable(faults[0]);
                          }
                          if (health.ok() && collector_ != nullptr) health = collector_->Health();
                          if (health.ok()) health = InsightsHealth();
                          return health.ok() ? http::HttpResponse::Text(200, "ok\n")
                                             : http::HttpResponse::Text(
                                                   503, Cat(ToStd(health.message()), "\n"));
                        },
                    .open = true,
                    .lane = http::Lane::kHealth});
  routes.push_back({.method = "GET",
                    .path = "/readyz",
                    .handler =
                        [this](const http::HttpRequest&) {
                          const Status ready = Ready();
                          return ready.ok() ? http::HttpResponse::Text(200, "ok\n")
                                            : http::HttpResponse::Text(
                                                  503, Cat(ToStd(ready.message()), "\n"));
                        },
                    .open = true,
                    .lane = http::Lane::kHealth});
  if (notifier_ != nullptr) {
    routes.push_back({.method = "GET",
                      .path = "/metrics/issues",
                      .handler =
                          [this](const http::HttpRequest&) {
                            // A failed scrape is better than a response without the open issues.
                            if (!notifier_->Ready())
                              return http::HttpResponse::Text(
                                  503, "notifier: reading the history of issues\n");
                            http::HttpResponse response;
                            response.content_type = self_metrics::Exposition::kContentType;
                            response.body = notifier_->RenderIssueMetrics();
                            return response;
                          },
                      .lane = http::Lane::kHealth});
    for (http::HttpRoute& route : SilenceRoutes(notifier_->Silences()))
      routes.push_back(std::move(route));
  }
  http::HttpServerOptions options;
  options.listen = config_.http.listen;
  options.tls = {.certificate_file = config_.http.tls.certificate,
                 .key_file = config_.http.tls.key,
                 .client_ca_file = config_.http.tls.client_ca};
  RETURN_IF_ERROR(WarnWithoutTls("http", config_.http.listen, config_.http.tls));
  ASSIGN_OR_RETURN(options.tokens, Tokens(config_.http.listen, config_.http.token_file,
                                          config_.http.act_token_file, "HTTP"));
  options.max_connections = static_cast<size_t>(config_.http.max_connections);
  options.max_connections_per_address =
      static_cast<size_t>(config_.http.max_connections_per_address);
  options.header_timeout_ns = config_.http.header_timeout_ns;
  options.body_timeout_ns = config_.http.body_timeout_ns;
  options.idle_timeout_ns = config_.http.idle_timeout_ns;
  http_tokens_ = options.tokens;
  if (insights_ != nullptr) {
    if (config_.insights.peers.size() > 1) RETURN_IF_ERROR(StartFleet());
    for (http::HttpRoute& route : InsightsRoutes(&options)) routes.push_back(std::move(route));
  }
  ASSIGN_OR_RETURN(http_, http::HttpServer::Start(options, std::move(routes)));
  RegisterHttpMetrics();
  RegisterReloadMetrics();
  PITWALL_LOG(kInfo, "http", config_.http.tls.certificate.empty() ? "http" : "https", "://",
              http_->address(), "/metrics, /healthz, /readyz");
  return OkStatus();
}

void ServiceHost::Stop() {
  if (stopping_.exchange(true)) return;
  if (readiness_wakeup_ != nullptr) readiness_wakeup_->Wake();
  if (readiness_thread_.joinable()) readiness_thread_.join();
  if (grpc_ != nullptr) grpc_->SetServing(false);
  if (collector_ != nullptr) collector_->Stop();
  if (capture_bridge_ != nullptr) capture_bridge_->Stop();
  if (parameters_ != nullptr) parameters_->Stop();
  if (processor_ != nullptr) processor_->Stop();
  if (executor_ != nullptr) executor_->Stop();
  if (http_ != nullptr) http_->Stop();
  if (fleet_ != nullptr) fleet_->Stop();
  if (remote_write_ != nullptr) remote_write_->Stop();
  if (insights_ != nullptr) insights_->Stop();
  if (captures_ != nullptr) captures_->Stop();
  if (notifier_ != nullptr) notifier_->Stop();
  if (grpc_ != nullptr) grpc_->Stop();
}

}  // namespace pitwall
