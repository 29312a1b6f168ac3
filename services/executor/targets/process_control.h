// The one verb that the executor has over processes of its machine: look whether it is the right
// one, ask it to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/job.h"

namespace pitwall::executor {

// One process for ever: the pid alone is used again. The uid of a JobReference of platform
// "process" is
// "<pid>@<node>/<start>", start being field 22 of /proc/<pid>/stat (clock ticks since boot).
struct ProcessIdentity {
  int64_t pid = 0;
  std::string node;
  uint64_t start_ticks = 0;
  std::string owner;  // that it must have, "uid:1000" or "pod:<uid>"; "": whoever's
};
// InvalidArgument, naming what is wrong with the uid.
StatusOr<ProcessIdentity> ParseProcessUid(std::string_view uid);
std::string MakeProcessUid(const ProcessIdentity& identity);
// Processes of a job on one node, never empty: "<pid>@<node>/<start>", then "+<pid>/<start>" for
// each further process. InvalidArgument as above, and if the uid ends with "+more": the list is
// incomplete.
StatusOr<std::vector<ProcessIdentity>> ParseProcessUids(std::string_view uid);

enum class ProcessState {
  kRunning,
  kGone,
  kReplaced,    // another process has the pid now
  kOtherOwner,  // it is not of the owner that it must have
};

// Thread-safe.
class ProcessControl {
 public:
  virtual ~ProcessControl() = default;
  // Unavailable: its state cannot be read, which says nothing about it.
  virtual StatusOr<ProcessState> Look(const ProcessIdentity& process) = 0;
  // SIGTERM to exactly this process. NotFound: gone or replaced, nothing was signalled.
  // Unavailable: its state cannot be read, nothing was signalled.
  // PermissionDenied: not ours, or of another owner.
  virtual Status Terminate(const ProcessIdentity& process) = 0;
};

// Over /proc and pidfd: the identity is checked on the handle that is then signalled, so there is
// no moment at which the pid could change hands (kernels before 5.3: kill, right after the check).
std::unique_ptr<ProcessControl> MakeLinuxProcessControl();
// Start ticks of a live process, for those who make the reference. NotFound.
StatusOr<uint64_t> ProcessStartTicks(int64_t pid);

}  // namespace pitwall::executor
