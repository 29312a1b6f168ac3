// Access of the executor to processes of its machine: check the identity, and send SIGTERM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/job.h"

namespace pitwall::executor {

// Unique identity of a process, since pids are reused. The uid of a JobReference of platform
// "process" is "<pid>@<node>/<start>", where start is field 22 of /proc/<pid>/stat (clock ticks
// since boot).
struct ProcessIdentity {
  int64_t pid = 0;
  std::string node;
  uint64_t start_ticks = 0;
  std::string owner;  // required owner, "uid:1000" or "pod:<uid>"; "": any
};
// InvalidArgument contains the invalid part of the uid.
StatusOr<ProcessIdentity> ParseProcessUid(std::string_view uid);
std::string MakeProcessUid(const ProcessIdentity& identity);
// Parses the processes of a job on one node: "<pid>@<node>/<start>", then "+<pid>/<start>" for each
// further process. Never returns an empty list. InvalidArgument as above, and if the uid ends with
// "+more": the list is incomplete.
StatusOr<std::vector<ProcessIdentity>> ParseProcessUids(std::string_view uid);

enum class ProcessState {
  kRunning,
  kGone,
  kReplaced,    // another process has the pid
  kOtherOwner,  // the process has another owner
};

// Thread-safe.
class ProcessControl {
 public:
  virtual ~ProcessControl() = default;
  // Unavailable: its state cannot be read and is unknown.
  virtual StatusOr<ProcessState> Look(const ProcessIdentity& process) = 0;
  // Sends SIGTERM to exactly this process. NotFound: the process ended or was replaced.
  // Unavailable: its state cannot be read. PermissionDenied: not permitted, or another owner. No
  // error sends a signal.
  virtual Status Terminate(const ProcessIdentity& process) = 0;
};

// Uses /proc and pidfd: the identity is checked on the handle that is then signaled, so the pid
// cannot be reused in between (kernels before 5.3: kill, right after the check).
std::unique_ptr<ProcessControl> MakeLinuxProcessControl();
// Returns the start ticks of a live process, for references. NotFound.
StatusOr<uint64_t> ProcessStartTicks(int64_t pid);

}  // namespace pitwall::executor
