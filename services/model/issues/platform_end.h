// End of a job or a rank as its platform reports it: Slurm's epilog, the status of a pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall {

// It may come after the end, and amends what the collector saw of the processes.
struct PlatformEnd {
  std::optional<int32_t> signal;     // that ended it; nothing: not known
  std::optional<int32_t> exit_code;  // nothing: not known
  bool oom_killed = false;           // a process of it, by the kernel
  bool on_purpose = false;           // by a person, a time limit, a preemption: no death
  std::string cause;            // in the platform's words: "time limit", "Evicted"; may be empty
  std::optional<int64_t> rank;  // nothing: all ranks that ended
  friend bool operator==(const PlatformEnd&, const PlatformEnd&) = default;
};

// Reason of the kNotice that says it while the job goes on.
inline constexpr std::string_view kPlatformEnd = "platform_end";

// In an event (kEnded, or kNotice with the reason kPlatformEnd) it is the labels signal, exit_code,
// oom_killed, on_purpose, cause and rank: readers of earlier versions pass over them.
void AddPlatformEnd(const PlatformEnd& end, JobEvent* event);
// Nothing: the event says no such thing, or nonsense.
std::optional<PlatformEnd> PlatformEndOf(const JobEvent& event);
// The platform's own words, else the numbers: "time limit", "out of memory", "signal 9", "exit code
// 3"; "" where it has neither. A code of 128 + n is signal n.
std::string TextOf(const PlatformEnd& end);

}  // namespace pitwall
