// Commands `pitwall standalone|collector|processor|notifier|executor|insights`.
#include <signal.h>

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/config/config_keys.h"
#include "services/app/config/rule_files.h"
#include "services/app/config/service_flags.h"
#include "services/app/host/file_watch.h"
#include "services/app/host/service_host.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

// Returns the files that are reread on reload.
std::vector<std::string> ReloadedFiles(const Flags& flags, const RulesConfig& rules) {
  std::vector<std::string> paths;
  if (const auto path = flags.One("config")) paths.push_back(*path);
  for (const std::string& file : rules.files) {
    if (!StartsWith(file, kPackPrefix)) paths.push_back(file);
  }
  if (!rules.overrides.empty()) paths.push_back(rules.overrides);
  paths.insert(paths.end(), rules.baseline.begin(), rules.baseline.end());
  return paths;
}

LogLevel LogLevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

// Blocks the signals that Serve waits for. Call this before starting any thread.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // With SIGXFSZ ignored, a write beyond RLIMIT_FSIZE fails with EFBIG, like a write to a full
  // disk.
  ::signal(SIGXFSZ, SIG_IGN);
  return signals;
}

// Reloads the configuration on each SIGHUP. Returns on SIGINT or SIGTERM.
void Serve(const std::string& service, const Flags& flags, const sigset_t& signals,
           ServiceHost* host, FileWatch* watch) {
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGHUP) {
      PITWALL_LOG(kInfo, service, "stopping (signal ", signal, ")");
      return;
    }
    const auto config = EffectiveConfig(flags);
    const Status status = config.ok() ? host->Reload(*config) : config.status();
    host->ReportReload(status.ok());
    if (!status.ok())
      PITWALL_LOG(kError, "reload", "failed, so nothing has changed: ", ToStd(status.message()));
    // The list of watched files is updated even after a failed reload, because a missing file may
    // be created later.
    if (config.ok() && watch != nullptr) watch->Watch(ReloadedFiles(flags, config->rules));
  }
}

int RunService(const std::string& service, const Flags& flags) {
  const auto config = EffectiveConfig(flags);
  if (!config.ok()) {
    PrintError(Cat(ToStd(config.status().message()), "\n"));
    return kUsage;
  }
  if (flags.Has("print-config")) {
    Print(flags.Has("markdown") ? ConfigAsMarkdown() : PrintConfig(*config));
    return kFine;
  }
  SetLogLevel(LogLevelOf(config->log_level));
  const sigset_t signals = BlockSignals();
  const bool all = service == "standalone";
  const Roles roles{.collector = all || service == "collector",
                    .processor = all || service == "processor",
                    .notifier = all || service == "notifier",
                    .executor = service == "executor" || (all && config->executor.enabled),
                    .insights = service == "insights" || (all && config->insights.enabled)};
  // The watch starts before the rule files are read, so it also detects changes during startup.
  clock::SystemClock clock;
  std::unique_ptr<FileWatch> watch;
  if (config->reload_interval_ns > 0) {
    watch = std::make_unique<FileWatch>(&clock, config->reload_interval_ns,
                                        ReloadedFiles(flags, config->rules),
                                        [] { ::kill(::getpid(), SIGHUP); });
  }
  ServiceHost host(service, roles, *config);
  if (const Status status = host.Start(); !status.ok()) {
    PrintFailure(service, status);
    return kUsage;
  }
  Serve(service, flags, signals, &host, watch.get());
  host.Stop();
  PITWALL_LOG(kInfo, service, "stopped");
  return kFine;
}

Command ServiceCommand(std::string_view name, std::string_view summary,
                       std::vector<std::string_view> examples) {
  return {.name = std::string(name),
          .summary = summary,
          .usage = {"[options]"},
          .details =
              "Options override the configuration file. docs/configuration.md lists every key "
              "of the file.\n",
          .options = OptionsOfService(name),
          .examples = std::move(examples),
          .run = [name](const Flags& flags) { return RunService(std::string(name), flags); },
          .ignored = OptionsWithoutEffect(name)};
}

}  // namespace

std::vector<Command> ServiceCommands() {
  return {
      ServiceCommand("standalone", "Run all services in one process, on an embedded log",
                     {"pitwall standalone --data-dir /var/lib/pitwall --rules pack:default",
                      "pitwall standalone --config /etc/pitwall/standalone.yaml --print-config"}),
      ServiceCommand("collector", "Collect metrics of a node and of the training processes on it",
                     {"pitwall collector --kafka kafka:9092 --socket /run/pitwall/collector.sock"}),
      ServiceCommand("processor", "Evaluate the rules and emit issues",
                     {"pitwall processor --kafka kafka:9092 --rules pack:default",
                      "pitwall processor --kafka kafka:9092 --share 0/2"}),
      ServiceCommand("notifier",
                     "Serve issues by gRPC and send them to webhooks, Alertmanager, Slack, e-mail, "
                     "PagerDuty, and SMS",
                     {"pitwall notifier --kafka kafka:9092 --grpc-listen 127.0.0.1:9871"}),
      ServiceCommand("executor", "Stop jobs according to the configured policies",
                     {"pitwall executor --kafka kafka:9092 --config /etc/pitwall/pitwall.yaml"}),
      ServiceCommand("insights", "Keep and serve the history of all jobs",
                     {"pitwall insights --kafka kafka:9092 --data-dir /var/lib/pitwall",
                      "pitwall insights --data-dir /var/lib/pitwall"}),
  };
}

}  // namespace pitwall
