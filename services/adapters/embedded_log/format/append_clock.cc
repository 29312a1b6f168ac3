#include "services/adapters/embedded_log/format/append_clock.h"

#include "services/base/duration.h"
#include "services/base/log.h"

namespace pitwall::log {

int64_t AppendClock::Stamp() {
  const int64_t ahead_ns = AheadNs();
  if (const bool ahead = ahead_ns > kNanosPerSecond; ahead != told_ahead_) {
    told_ahead_ = ahead;
    if (ahead) {
      PITWALL_LOG(kWarning, "log", "wall clock: it is ",
                  FormatDuration(ahead_ns / kNanosPerSecond * kNanosPerSecond),
                  " behind the append times of the log, since it was set back; records keep the "
                  "log's own time until the wall clock has caught up");
    } else {
      PITWALL_LOG(kInfo, "log", "wall clock: it has caught up with the append times of the log");
    }
  }
  return Now();
}

}  // namespace pitwall::log
