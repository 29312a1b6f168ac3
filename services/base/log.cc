#include "services/base/log.h"

#include <atomic>
#include "absl/time/time.h"
#include "services/base/clock.h"
#include "services/base/terminal.h"

namespace pitwall {
namespace {
std::atomic<const Clock*> log_clock{nullptr};
std::atomic<LogLevel> least_level{LogLevel::kInfo};
constexpr char kLetters[] = "DIWE";
}  // namespace

void SetLogClock(const Clock* clock) { log_clock.store(clock); }
void SetLogLevel(LogLevel least) { least_level.store(least, std::memory_order_relaxed); }
bool LogEnabled(LogLevel level) { return level >= least_level.load(std::memory_order_relaxed); }

void LogLine(LogLevel level, std::string_view component, std::string_view message) {
  std::string line;
  if (const Clock* clock = log_clock.load(); clock != nullptr) {
    line = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ ", absl::FromUnixNanos(clock->WallNs()),
                            absl::UTCTimeZone());
  }
  line += kLetters[static_cast<int>(level)];
  CatTo(line, " ", component, ": ", TerminalLine(message), "\n");
  PrintError(line);
}

}  // namespace pitwall
