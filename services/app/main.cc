// Entry point of the binary.
#include <string>
#include <system_error>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

int main(int argc, char** argv) {
  static const pitwall::clock::SystemClock system_clock;
  pitwall::SetLogClock(&system_clock);
  try {
    return pitwall::Dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::system_error& error) {
    // The standard library throws if it cannot start a thread. All services have stopped at this
    // point.
    pitwall::PrintError(pitwall::Cat(
        "pitwall: thread cannot be started (", error.what(),
        "); raise the limit of processes (ulimit -u, pids.max) or of memory (ulimit -v)\n"));
    return pitwall::kUsage;
  }
}
