// State of a rank that a restarted collector needs to report the rank's end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/collector/processes/process_watch.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Where process numbers mean what they meant: one boot of one machine, one namespace.
struct ProcessHome {
  std::string boot;           // of the kernel; "": not known
  std::string pid_namespace;  // as /proc/self/ns/pid says it; "": not known
  friend bool operator==(const ProcessHome&, const ProcessHome&) = default;
};
ProcessHome ReadProcessHome(const std::string& root);

struct TrackedRank {
  std::string owner;  // of the job
  bool owner_declared = false;
  SourceInfo info;  // kind kRank; node and step modes are not in it
  int64_t world_size = 0;
  bool resends = false;
  ProcessHome home;
  WatchedProcess process;
  std::optional<std::string> goodbye;  // reason, once the rank has ended in order or failed
};
std::string EncodeKnownRank(const TrackedRank& rank);
// Nothing: damaged, or of another format.
std::optional<TrackedRank> DecodeKnownRank(std::string_view bytes);

}  // namespace pitwall::collector
