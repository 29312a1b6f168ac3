// End of a job or a rank as reported by its platform: Slurm's epilog, the status of a pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall {

// May arrive after the end and amends what the collector observed of the processes.
struct PlatformEnd {
  std::optional<int32_t> signal;     // that terminated it; nothing: unknown
  std::optional<int32_t> exit_code;  // nothing: unknown
  bool oom_killed = false;           // the kernel killed one of its processes
  bool on_purpose = false;           // by a person, a time limit, or preemption: not a failure
  std::string cause;                 // text of the platform: "time limit", "Evicted"; may be empty
  std::optional<int64_t> rank;       // nothing: all ranks that ended
  friend bool operator==(const PlatformEnd&, const PlatformEnd&) = default;
};

// Reason of the kNotice with a platform end while the job continues.
inline constexpr std::string_view kPlatformEnd = "platform_end";

// Adds the labels signal, exit_code, oom_killed, on_purpose, cause, and rank to an event (kEnded,
// or kNotice with the reason kPlatformEnd). Readers of earlier versions ignore them.
void AddPlatformEnd(const PlatformEnd& end, JobEvent* event);
// Returns nothing if the event has no valid platform end.
std::optional<PlatformEnd> PlatformEndOf(const JobEvent& event);
// Returns the platform's text, or one of the numbers: "time limit", "out of memory", "signal 9",
// "exit code 3"; "" if there is none. A code of 128 + n is signal n.
std::string TextOf(const PlatformEnd& end);

}  // namespace pitwall
