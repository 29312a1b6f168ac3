#include "services/app/host/roles/collector_role.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/adapters/http/client/curl_transport.h"
#include "services/app/host/private_directory.h"
#include "services/app/host/roles/processor_role.h"
#include "services/app/host/topic_creating_appender.h"
#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/jobs/owner_name.h"

namespace pitwall {
namespace {

StatusOr<std::string> PodsUrl(std::string url, std::string_view node) {
  constexpr std::string_view kNode = "{node}";
  if (node.empty() && url.find(kNode) != url.npos) {
    return InvalidArgument(
        "collector.pods.url: {node} is unknown because collector.node is empty; set "
        "collector.node, or put the node name in the URL");
  }
  for (size_t at = url.find(kNode); at != url.npos; at = url.find(kNode, at + node.size()))
    url.replace(at, kNode.size(), node);
  return url;
}

StatusOr<collector::JobDeclaration> DeclarationOf(const JobConfig& job) {
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
  return option;
}

collector::Options::Limits LimitsOf(const CollectorLimitsConfig& limits) {
  return {.clients = static_cast<size_t>(limits.clients),
          .clients_per_owner = static_cast<size_t>(limits.clients_per_owner),
          .bytes_per_second_per_owner = static_cast<size_t>(limits.bytes_per_second_per_owner),
          .jobs = static_cast<size_t>(limits.jobs),
          .jobs_per_owner = static_cast<size_t>(limits.jobs_per_owner),
          .hello_timeout_ns = limits.hello_timeout_ns,
          .idle_timeout_ns = limits.idle_timeout_ns};
}

}  // namespace

Status CollectorRole::Start(const Config& config) {
  collector::Options options;
  options.node = config.collector.node;
  configured_interval_ns_ = config.collector.interval_ns;
  options.interval_ns = configured_interval_ns_;
  for (const JobConfig& job : config.collector.jobs) {
    ASSIGN_OR_RETURN(collector::JobDeclaration declaration, DeclarationOf(job));
    options.jobs.push_back(std::move(declaration));
  }
  options.socket_path = config.Socket();
  ASSIGN_OR_RETURN(options.socket_mode, ParseSocketMode(config.collector.socket_mode));
  options.socket_group = config.collector.socket_group;
  options.limits = LimitsOf(config.collector.limits);
  options.drop_dir = config.collector.drop_dir;
  if (const PodsConfig& pods = config.collector.pods; !pods.url.empty()) {
    // Connections to any address are allowed because an administrator configured the server.
    ASSIGN_OR_RETURN(
        pods_transport_,
        http::MakeCurlTransport({.allowed_cidrs = {"0.0.0.0/0", "::/0"}, .ca_file = pods.ca_file}));
    ASSIGN_OR_RETURN(const std::string url, PodsUrl(pods.url, options.node));
    RETURN_IF_ERROR(Annotate(pods_transport_->CheckUrl(url), "collector.pods.url"));
    options.pods = {url, pods.token_file, pods_transport_.get(), pods.owners};
  }
  options.spool_dir = config.SpoolDir();
  RETURN_IF_ERROR(MakePrivateDirectory(options.spool_dir));
  options.spool_bytes = static_cast<uint64_t>(config.collector.spool_bytes);
  options.gpus = config.collector.gpus;
  ASSIGN_OR_RETURN(std::unique_ptr<Appender> inner, log_->OpenAppender());
  appender_ = std::make_unique<TopicCreatingAppender>(log_, ProcessorOptionsOf(config, nullptr),
                                                      std::move(inner));
  capture_bridge_ = std::make_unique<collector::CaptureTopicBridge>(clock_, log_, appender_.get());
  options.deliver_capture = [this](const RankCapture& capture) {
    capture_bridge_->Deliver(capture);
  };
  options.ask_capture = [this](const CaptureRequest& request) {
    return capture_bridge_->RequestCapture(request);
  };
  ASSIGN_OR_RETURN(collector_,
                   collector::Collector::Create(options, *clock_, appender_.get(), exposition_));
  RETURN_IF_ERROR(collector_->Start());
  capture_bridge_->Start(
      [this](CaptureRequest request) { collector_->RequestCapture(std::move(request)); },
      [this](const ActionEvent& request) { FollowInterval(request); });
  PITWALL_LOG(kInfo, "collector", "clients connect to ", options.socket_path, " (PITWALL_SOCKET)");
  return OkStatus();
}

void CollectorRole::Stop() {
  if (collector_ != nullptr) collector_->Stop();
  if (capture_bridge_ != nullptr) capture_bridge_->Stop();
}

Status CollectorRole::Reload(const Config& fresh) {
  const int64_t interval_ns = fresh.collector.interval_ns;
  if (interval_ns == configured_interval_ns_) return OkStatus();
  RETURN_IF_ERROR(collector_->SetInterval(interval_ns));
  PITWALL_LOG(kInfo, "reload", "collector.interval: ", FormatDuration(configured_interval_ns_),
              " -> ", FormatDuration(interval_ns));
  configured_interval_ns_ = interval_ns;
  return OkStatus();
}

// The requested interval applies until the next start or until a reload changes the configured
// interval.
void CollectorRole::FollowInterval(const ActionEvent& request) {
  const std::vector<std::string> jobs = collector_->BoundJobs();
  if (std::find(jobs.begin(), jobs.end(), request.job) == jobs.end()) return;
  const Status set = collector_->SetInterval(request.interval.ns());
  const std::string asked =
      Cat("job ", request.job, ": ", request.principal, " requested a sampling interval of ",
          FormatDuration(request.interval.ns()));
  if (set.ok()) {
    PITWALL_LOG(kInfo, "collector", asked);
  } else {
    PITWALL_LOG(kWarning, "collector", asked, ": ", ToStd(set.message()));
  }
}

}  // namespace pitwall
