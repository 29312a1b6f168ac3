#include "services/pitwall/service_flags.h"

#include <algorithm>

#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall {

const std::vector<FlagSpec>& ServiceFlags() {
  using Kind = FlagSpec::Kind;
  static const std::vector<FlagSpec> specs = {
      {"config", Kind::kOne, "FILE", "the configuration; flags override it"},
      {"print-config", Kind::kSwitch, "", "print the effective configuration and stop"},
      {"markdown", Kind::kSwitch, "",
       "with --print-config: the documentation of every key instead"},
      {"data-dir", Kind::kOne, "DIR", "embedded log, spool and socket live here"},
      {"http-listen", Kind::kOne, "ADDR",
       "address:port of /metrics, /healthz, /readyz (127.0.0.1:9870)"},
      {"grpc-listen", Kind::kOne, "ADDR", "address:port of the gRPC IssueService (127.0.0.1:9871)"},
      {"rules", Kind::kMany, "FILE",
       "rule files, or shipped packs as pack:NAME (default: pack:default)"},
      {"overrides", Kind::kOne, "FILE", "parameters per job"},
      {"baseline", Kind::kMany, "PATH",
       "summaries of finished jobs (pitwall baseline), and folders with them"},
      {"webhook", Kind::kMany, "URL", "receives notices of incidents"},
      {"kafka", Kind::kOne, "BROKERS",
       "use Apache Kafka (host:port,…) instead of the embedded log"},
      {"job", Kind::kMany, "ID", "jobs that run on this node; ID,owner=USER says whose a job is"},
      {"node", Kind::kOne, "NAME", "name of this node (default: its host name)"},
      {"interval", Kind::kOne, "DURATION", "sampling interval: 100ms, 200ms, 500ms, 1s, 5s or 1m"},
      {"socket", Kind::kOne, "PATH", "Unix socket of the training clients"},
      {"socket-mode", Kind::kOne, "MODE",
       "who may connect to it, as a file mode (0666: every user)"},
      {"socket-group", Kind::kOne, "GROUP", "group of the socket, for --socket-mode 0660"},
      {"share", Kind::kOne, "I/N",
       "processor, insights: partitions of this one of several, as 0/3"},
      {"executor", Kind::kSwitch, "", "standalone: also run the executor"},
      {"accept-log-reset", Kind::kSwitch, "",
       "processor, executor, standalone: go on, once, with a log that was deleted, replaced or "
       "cut"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
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
  for (const std::string& text : flags.Many("job")) {
    constexpr std::string_view kOwner = ",owner=";
    const size_t at = text.rfind(kOwner);
    const std::string id = text.substr(0, at);
    config.collector.jobs.push_back({.id = id, .name = id, .owner = {}, .members = {}});
    if (at != std::string::npos)
      config.collector.jobs.back().owner = text.substr(at + kOwner.size());
  }
  std::vector<WebhookConfig>& webhooks = config.notifier.webhooks;
  for (const std::string& url : flags.Many("webhook")) {
    // The stored position goes by the name: it follows the URL, whatever other flags come and go.
    const std::string name = Cat("flag-", StableHashHex(url));
    if (std::none_of(webhooks.begin(), webhooks.end(),
                     [&](const WebhookConfig& w) { return w.name == name; })) {
      webhooks.push_back({.name = name, .url = url});
    }
  }
  if (flags.Has("executor")) config.executor.enabled = true;
  if (flags.Has("accept-log-reset")) config.processor.accept_log_reset = true;
  RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace pitwall
