#include "services/app/host/roles/executor_role.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "services/adapters/http/client/curl_transport.h"
#include "services/adapters/http/client/standard_webhooks.h"
#include "services/app/text/action_text.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/executor/targets/kubernetes_target.h"
#include "services/executor/targets/slurm_target.h"
#include "services/executor/targets/webhook_target.h"

namespace pitwall {
namespace {

// Node name shared by all executors of cluster jobs, so that a second executor fences the first
// one. The name is not a valid host name, so it cannot collide with a real node.
constexpr std::string_view kClusterNode = "_cluster";

// Returns the URL of the API server for the cluster where this process runs as a pod.
StatusOr<std::string> ServerOfPod() {
  const char* const host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* const port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == 0) {
    return InvalidArgument(
        "executor.kubernetes.server: value is missing and the process is not in a pod "
        "(KUBERNETES_SERVICE_HOST is not set); specify https://host:port of the API server");
  }
  const std::string_view name = host;
  const bool v6 = name.find(':') != name.npos;
  return Cat("https://", v6 ? "[" : "", name, v6 ? "]" : "", ":", port == nullptr ? "443" : port);
}

executor::ExecutorOptions OptionsOf(const Config& whole) {
  const ExecutorConfig& config = whole.executor;
  executor::ExecutorOptions options;
  options.node = config.stops == "cluster" ? std::string(kClusterNode) : whole.collector.node;
  options.processes = config.stops != "cluster";
  options.others_elsewhere = config.stops != "all";
  options.budget = static_cast<int>(config.budget);
  options.cool_down_ns = config.cool_down_ns;
  options.accept_log_reset = whole.processor.accept_log_reset;
  for (const PolicyConfig& policy : config.policies) {
    options.policies.push_back({.rule = policy.rule,
                                .mode = policy.mode == "live"  ? executor::PolicyMode::kLive
                                        : policy.mode == "off" ? executor::PolicyMode::kOff
                                                               : executor::PolicyMode::kDryRun,
                                .grace_ns = policy.grace_ns});
  }
  for (const ExemptConfig& exempt : config.exempt)
    options.exempt.push_back({exempt.job, exempt.namespace_name, exempt.owner});
  return options;
}

}  // namespace

StatusOr<std::unique_ptr<executor::StopTarget>> ExecutorRole::KubernetesStops(
    const KubernetesConfig& config) {
  executor::KubernetesOptions options;
  options.server = config.server;
  if (options.server.empty()) {
    ASSIGN_OR_RETURN(options.server, ServerOfPod());
  }
  options.token_file = config.token_file;
  options.cluster = config.cluster;
  options.delete_objects = config.delete_objects;
  options.list_pods = config.list_pods;
  // Connections to any address are allowed because an administrator configured the server.
  ASSIGN_OR_RETURN(
      std::unique_ptr<HttpTransport> transport,
      http::MakeCurlTransport({.allowed_cidrs = {"0.0.0.0/0", "::/0"}, .ca_file = config.ca_file}));
  RETURN_IF_ERROR(Annotate(transport->CheckUrl(options.server), "executor.kubernetes.server"));
  stop_transports_.push_back(std::move(transport));
  return std::make_unique<executor::KubernetesTarget>(clock_, stop_transports_.back().get(),
                                                      std::move(options));
}

StatusOr<std::unique_ptr<executor::StopTarget>> ExecutorRole::WebhookStops(
    const StopWebhookConfig& config) {
  executor::WebhookTargetOptions options;
  options.url = config.url;
  options.platforms = config.platforms;
  if (!config.secrets.empty()) {
    std::vector<std::string> secrets;
    for (const std::string& where : config.secrets) {
      ASSIGN_OR_RETURN(std::string secret, http::ReadSecret(where));
      secrets.push_back(std::move(secret));
    }
    ASSIGN_OR_RETURN(options.signer, http::MakeStandardWebhooksSigner(secrets));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<HttpTransport> transport,
                   http::MakeCurlTransport({.allow_insecure = config.allow_insecure,
                                            .allowed_cidrs = config.allowed_cidrs}));
  RETURN_IF_ERROR(Annotate(transport->CheckUrl(config.url), "executor.webhook.url"));
  stop_transports_.push_back(std::move(transport));
  return std::make_unique<executor::WebhookTarget>(clock_, stop_transports_.back().get(),
                                                   std::move(options));
}

std::unique_ptr<executor::StopTarget> ExecutorRole::SlurmStops(const SlurmConfig& config) {
  commands_ = executor::MakeCommandRunner(clock_);
  return std::make_unique<executor::SlurmTarget>(
      commands_.get(), executor::SlurmOptions{.cluster = config.cluster,
                                              .scancel = config.scancel,
                                              .scontrol = config.scontrol,
                                              .timeout_ns = config.timeout_ns});
}

Status ExecutorRole::AddTargets(const ExecutorConfig& config) {
  if (config.stops == "processes") return OkStatus();
  // Targets in the order in which the executor tries them. The webhook must be last because it
  // handles the jobs that no other target accepts.
  if (config.kubernetes.enabled) {
    ASSIGN_OR_RETURN(std::unique_ptr<executor::StopTarget> target,
                     KubernetesStops(config.kubernetes));
    stop_targets_.push_back(std::move(target));
  }
  if (config.slurm.enabled) stop_targets_.push_back(SlurmStops(config.slurm));
  if (!config.webhook.url.empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<executor::StopTarget> target, WebhookStops(config.webhook));
    stop_targets_.push_back(std::move(target));
  }
  return OkStatus();
}

Status ExecutorRole::Start(const Config& config) {
  executor::ExecutorOptions options = OptionsOf(config);
  RETURN_IF_ERROR(AddTargets(config.executor));
  for (const auto& target : stop_targets_) options.targets.push_back(target.get());
  PITWALL_LOG(kWarning, "executor", ExecutorNotice(config.executor));
  processes_ = executor::MakeLinuxProcessControl();
  ASSIGN_OR_RETURN(executor_,
                   executor::Executor::Make(clock_, log_, processes_.get(), options, exposition_));
  return executor_->Start();
}

Status ExecutorRole::Ready() const {
  return executor_->Ready() ? OkStatus() : Unavailable("executor: still reading earlier decisions");
}

void ExecutorRole::Stop() {
  if (executor_ != nullptr) executor_->Stop();
}

}  // namespace pitwall
