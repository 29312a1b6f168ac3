#include "services/adapters/embedded_log/format/append_clock.h"

#include "services/base/duration.h"
#include "services/base/log.h"

namespace pitwall::log {

int64_t AppendClock::Stamp() {
  const int64_t ahead_ns = AheadNs();
  if (const bool ahead = ahead_ns > kNanosPerSecond; ahead != reported_ahead_) {
    reported_ahead_ = ahead;
    if (ahead) {
      PITWALL_LOG(kWarning, "log", "wall clock is ",
                  FormatDuration(ahead_ns / kNanosPerSecond * kNanosPerSecond),
                  " behind the log's append times because it was set back; records use the "
                  "log's own time until the wall clock catches up");
    } else {
      PITWALL_LOG(kInfo, "log", "wall clock has caught up with the log's append times");
    }
  }
  return Now();
}

}  // namespace pitwall::log
