// End of a job or rank as reported by its platform, such as Slurm's epilog or the status of a pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall {

// End reported by a platform. It may arrive after the job has ended. It supplements the collector's
// observations of the processes.
struct PlatformEnd {
  std::optional<int32_t> signal;     // signal that terminated it; nullopt: unknown
  std::optional<int32_t> exit_code;  // nullopt: unknown
  bool oom_killed = false;           // the kernel killed a process for lack of memory
  bool on_purpose =
      false;          // ended on purpose by a user, a time limit, or preemption, so not a failure
  std::string cause;  // text from the platform: "time limit", "Evicted"; may be empty
  std::optional<int64_t> rank;  // affected rank; nullopt: all ranks that ended
  friend bool operator==(const PlatformEnd&, const PlatformEnd&) = default;
};

// Reason in a kNotice that reports a platform end while the job continues.
inline constexpr std::string_view kPlatformEnd = "platform_end";

// Adds the labels signal, exit_code, oom_killed, on_purpose, cause, and rank to an event (kEnded,
// or kNotice with the reason kPlatformEnd). Earlier versions ignore these labels.
void AddPlatformEnd(const PlatformEnd& end, JobEvent* event);
// Returns the platform end of an event, or nothing if the event has no valid platform end.
std::optional<PlatformEnd> PlatformEndOf(const JobEvent& event);
// Returns the platform's text, or a description of the numbers: "time limit", "out of memory",
// "signal 9", "exit code 3". Returns "" if neither is present. A code of 128 + n means signal n.
std::string TextOf(const PlatformEnd& end);

}  // namespace pitwall
