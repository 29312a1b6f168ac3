// `pitwall standalone|collector|processor|notifier|executor|insights`.
#include <signal.h>

#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/base/terminal.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/config_keys.h"
#include "services/pitwall/service_flags.h"
#include "services/pitwall/service_host.h"

namespace pitwall {

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
    if (Status status = config.ok() ? host.Reload(*config) : config.status(); !status.ok()) {
      PITWALL_LOG(kError, "reload", "nothing has changed: ", ToStd(status.message()));
    }
  }
  host.Stop();
  PITWALL_LOG(kInfo, service, "stopped");
  return kFine;
}

}  // namespace pitwall
