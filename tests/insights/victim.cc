// insights_victim LOG STORE: builds the history of an embedded log until the process is killed or
// has read and sealed everything.
#include "services/adapters/embedded_log/embedded_log.h"
#include "tests/insights/victim_run.h"

int main(int argc, char** argv) {
  using namespace pitwall;
  if (argc != 3) return 2;
  clock::SystemClock clock;
  log::EmbeddedLogOptions log_options;
  log_options.dir = argv[1];
  log_options.background = false;
  auto log = log::OpenEmbeddedLog(log_options, &clock);
  if (!log.ok()) return 3;
  return history::RunVictim(&clock, log->get(), history::VictimOptions(argv[2], ""));
}
