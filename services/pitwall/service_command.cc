// `pitwall standalone|collector|processor|notifier|executor|insights`.
#include <signal.h>

#include <unistd.h>

#include <memory>

#include "services/adapters/clock/system_clock.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/config_keys.h"
#include "services/pitwall/file_watch.h"
#include "services/pitwall/rule_files.h"
#include "services/pitwall/service_flags.h"
#include "services/pitwall/service_host.h"

namespace pitwall {
namespace {

// What a reload reads again.
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

}  // namespace

int RunService(const std::string& service, const std::vector<std::string>& arguments) {
  auto flags = Flags::Parse(ServiceFlags(), arguments);
  if (flags.ok() && !flags->positional().empty()) {
    flags = InvalidArgument(Cat("unexpected argument ", Quote(flags->positional()[0])));
  }
  if (!flags.ok()) {
    PrintError(Cat("pitwall ", service, ": ", ToStd(flags.status().message()), "\n"));
    return kUsage;
  }
  if (flags->Has("help")) {
    Print(Cat("pitwall ", service, " [flags]\n", FlagHelp(ServiceFlags())));
    return kFine;
  }
  auto config = EffectiveConfig(*flags);
  if (!config.ok()) {
    PrintError(Cat(ToStd(config.status().message()), "\n"));
    return kUsage;
  }
  if (flags->Has("print-config")) {
    Print(flags->Has("markdown") ? ConfigAsMarkdown() : PrintConfig(*config));
    return kFine;
  }
  SetLogLevel(config->log_level == "debug"     ? LogLevel::kDebug
              : config->log_level == "warning" ? LogLevel::kWarning
              : config->log_level == "error"   ? LogLevel::kError
                                               : LogLevel::kInfo);

  // Blocked before any thread is made, so that only sigwait below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A write beyond RLIMIT_FSIZE is an error of that write (EFBIG), as a full disk is.
  ::signal(SIGXFSZ, SIG_IGN);

  const bool all = service == "standalone";
  const Roles roles{.collector = all || service == "collector",
                    .processor = all || service == "processor",
                    .notifier = all || service == "notifier",
                    .executor = service == "executor" || (all && config->executor.enabled),
                    .insights = service == "insights" || (all && config->insights.enabled)};
  // Before the rule files are read: what changes while the services start is not missed.
  clock::SystemClock clock;
  std::unique_ptr<FileWatch> watch;
  if (config->reload_interval_ns > 0) {
    watch = std::make_unique<FileWatch>(&clock, config->reload_interval_ns,
                                        ReloadedFiles(*flags, config->rules),
                                        [] { ::kill(::getpid(), SIGHUP); });
  }
  ServiceHost host(service, roles, *config);
  if (Status status = host.Start(); !status.ok()) {
    PrintError(Cat("pitwall ", service, ": ", ToStd(status.message()), "\n"));
    return kUsage;
  }
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGHUP) {
      PITWALL_LOG(kInfo, service, "stopping (signal ", signal, ")");
      break;
    }
    config = EffectiveConfig(*flags);
    const Status status = config.ok() ? host.Reload(*config) : config.status();
    host.ReportReload(status.ok());
    if (!status.ok()) {
      PITWALL_LOG(kError, "reload", "nothing has changed: ", ToStd(status.message()));
    }
    // After an error too: a file that is named already may come later.
    if (config.ok() && watch != nullptr) watch->Watch(ReloadedFiles(*flags, config->rules));
  }
  host.Stop();
  PITWALL_LOG(kInfo, service, "stopped");
  return kFine;
}

}  // namespace pitwall
