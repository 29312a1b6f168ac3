// Rank state that a restarted collector needs to report the rank's end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/collector/processes/process_watch.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Scope in which a PID identifies a process: one boot of one machine and one PID namespace.
struct ProcessHome {
  std::string boot;           // boot ID of the kernel; "" if unknown
  std::string pid_namespace;  // target of /proc/self/ns/pid; "" if unknown
  friend bool operator==(const ProcessHome&, const ProcessHome&) = default;
};
ProcessHome ReadProcessHome(const std::string& root);

struct TrackedRank {
  std::string owner;  // owner of the job
  bool owner_declared = false;
  SourceInfo info;  // has kind kRank; node and step modes are not stored
  int64_t world_size = 0;
  bool resends = false;
  ProcessHome home;
  WatchedProcess process;
  std::optional<std::string> goodbye;  // set once the rank has exited cleanly or failed
};
std::string EncodeKnownRank(const TrackedRank& rank);
// Decodes a rank. Returns nullopt if the bytes are damaged or have an unknown format.
std::optional<TrackedRank> DecodeKnownRank(std::string_view bytes);

}  // namespace pitwall::collector
