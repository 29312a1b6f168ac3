#include "services/app/config/service_flags.h"

#include <algorithm>
#include <utility>

#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

// Bits of ServiceOption::services.
constexpr unsigned kStandalone = 1;
constexpr unsigned kCollector = 2;
constexpr unsigned kProcessor = 4;
constexpr unsigned kNotifier = 8;
constexpr unsigned kExecutor = 16;
constexpr unsigned kInsights = 32;
constexpr unsigned kAllServices = 63;

constexpr std::pair<std::string_view, unsigned> kServices[] = {
    {"standalone", kStandalone}, {"collector", kCollector}, {"processor", kProcessor},
    {"notifier", kNotifier},     {"executor", kExecutor},   {"insights", kInsights}};

struct ServiceOption {
  FlagSpec spec;
  unsigned services;
};

constexpr ServiceOption kOptions[] = {
    {{"config", Kind::kOne, "FILE", "read the configuration from FILE; options override it"},
     kAllServices},
    {{"print-config", Kind::kSwitch, "", "print the effective configuration and exit"},
     kAllServices},
    {{"markdown", Kind::kSwitch, "",
      "with --print-config: print the reference of all keys and options instead"},
     kAllServices},
    {{"data-dir", Kind::kOne, "DIR", "directory of the embedded log, the spool, and the socket",
      "pitwall-data"},
     kAllServices},
    {{"http-listen", Kind::kOne, "ADDR", "address:port that serves /metrics, /healthz, and /readyz",
      "127.0.0.1:9870"},
     kAllServices},
    {{"grpc-listen", Kind::kOne, "ADDR", "address:port that serves the gRPC IssueService",
      "127.0.0.1:9871"},
     kStandalone | kNotifier},
    {{"kafka", Kind::kOne, "BROKERS", "use Apache Kafka (host:port,…) instead of the embedded log"},
     kAllServices},
    {{"rules", Kind::kMany, "FILE", "rule files, or shipped packs as pack:NAME", "pack:default"},
     kStandalone | kProcessor},
    {{"overrides", Kind::kOne, "FILE", "file with parameters of rules per job"},
     kStandalone | kProcessor},
    {{"baseline", Kind::kMany, "PATH",
      "summaries of finished jobs (see `pitwall baseline`), or directories with summaries"},
     kStandalone | kProcessor},
    {{"share", Kind::kOne, "I/N",
      "own share of the partitions when several processes share them, such as 0/3"},
     kStandalone | kProcessor | kInsights},
    {{"webhook", Kind::kMany, "URL", "send notifications of incidents to URL"},
     kStandalone | kNotifier},
    {{"job", Kind::kMany, "ID",
      "jobs that run on this node; ID,owner=USER names the owner of a job"},
     kStandalone | kCollector},
    {{"node", Kind::kOne, "NAME", "name of this node (default: the host name)"},
     kStandalone | kCollector | kExecutor},
    {{"interval", Kind::kOne, "DURATION", "sampling interval: 100ms, 200ms, 500ms, 1s, 5s, or 1m",
      "500ms"},
     kStandalone | kCollector},
    {{"socket", Kind::kOne, "PATH",
      "Unix socket for the training clients (default: collector.sock in the data directory)"},
     kStandalone | kCollector},
    {{"socket-mode", Kind::kOne, "MODE", "file mode of the socket; 0666 admits every user", "0666"},
     kStandalone | kCollector},
    {{"socket-group", Kind::kOne, "GROUP", "group of the socket, for --socket-mode 0660"},
     kStandalone | kCollector},
    {{"executor", Kind::kSwitch, "", "also run the executor"}, kStandalone},
    {{"accept-log-reset", Kind::kSwitch, "",
      "accept once that the log was deleted, replaced, or truncated, and continue with it"},
     kStandalone | kProcessor | kExecutor},
};

std::vector<FlagSpec> OptionsWhere(std::string_view service, bool concerned) {
  std::vector<FlagSpec> specs;
  for (const auto& [name, bit] : kServices) {
    if (name != service) continue;
    for (const ServiceOption& option : kOptions) {
      if (((option.services & bit) != 0) == concerned) specs.push_back(option.spec);
    }
  }
  return specs;
}

void SetJobs(const Flags& flags, Config* config) {
  for (const std::string& text : flags.Many("job")) {
    constexpr std::string_view kOwner = ",owner=";
    const size_t at = text.rfind(kOwner);
    const std::string id = text.substr(0, at);
    config->collector.jobs.push_back({.id = id, .name = id, .owner = {}, .members = {}});
    if (at != std::string::npos)
      config->collector.jobs.back().owner = text.substr(at + kOwner.size());
  }
}

void SetWebhooks(const Flags& flags, Config* config) {
  auto& webhooks = config->notifier.receivers[std::string(notifier::WebhookKind().key)];
  for (const std::string& url : flags.Many("webhook")) {
    // The notifier stores the delivery position under the webhook's name. The name depends only on
    // the URL, so changes to other options do not affect the position.
    const std::string name = Cat("flag-", StableHashHex(url));
    if (std::none_of(webhooks.begin(), webhooks.end(),
                     [&](const auto& webhook) { return webhook->name == name; })) {
      webhooks.push_back(notifier::NewWebhookSettings(name, url));
    }
  }
}

}  // namespace

const std::vector<FlagSpec>& ServiceFlags() {
  static const std::vector<FlagSpec> specs = [] {
    std::vector<FlagSpec> all;
    for (const ServiceOption& option : kOptions) all.push_back(option.spec);
    return all;
  }();
  return specs;
}

std::vector<FlagSpec> OptionsOfService(std::string_view service) {
  return OptionsWhere(service, true);
}

std::vector<FlagSpec> OptionsWithoutEffect(std::string_view service) {
  return OptionsWhere(service, false);
}

std::string ServicesOfOption(std::string_view option) {
  std::vector<std::string> names;
  for (const ServiceOption& one : kOptions) {
    if (one.spec.name != option) continue;
    if (one.services == kAllServices) return "all";
    for (const auto& [name, bit] : kServices) {
      if ((one.services & bit) != 0) names.emplace_back(name);
    }
  }
  return Join(names, ", ");
}

StatusOr<Config> EffectiveConfig(const Flags& flags) {
  Config config;
  if (const auto path = flags.One("config")) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(*path));
    ASSIGN_OR_RETURN(config, ParseConfig(*path, text));
  }
  if (const auto value = flags.One("data-dir")) config.data_dir = *value;
  if (const auto value = flags.One("http-listen")) config.http.listen = *value;
  if (const auto value = flags.One("grpc-listen")) config.grpc.listen = *value;
  if (flags.Has("rules")) config.rules.files = flags.Many("rules");
  if (const auto value = flags.One("overrides")) config.rules.overrides = *value;
  if (flags.Has("baseline")) config.rules.baseline = flags.Many("baseline");
  if (const auto value = flags.One("node")) config.collector.node = *value;
  if (const auto value = flags.One("socket")) config.collector.socket = *value;
  if (const auto value = flags.One("socket-mode")) config.collector.socket_mode = *value;
  if (const auto value = flags.One("socket-group")) config.collector.socket_group = *value;
  if (const auto value = flags.One("share"))
    config.processor.share = config.insights.share = *value;
  if (const auto value = flags.One("interval")) {
    auto interval = ParseDuration(*value);
    if (!interval.ok()) return Annotate(interval.status(), "--interval");
    config.collector.interval_ns = *interval;
  }
  if (const auto value = flags.One("kafka")) {
    config.log.kind = "kafka";
    config.log.brokers = *value;
  }
  SetJobs(flags, &config);
  SetWebhooks(flags, &config);
  if (flags.Has("executor")) config.executor.enabled = true;
  if (flags.Has("accept-log-reset")) config.processor.accept_log_reset = true;
  RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace pitwall
