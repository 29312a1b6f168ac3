// Access of the executor to processes on its machine: checks identities and sends SIGTERM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/job.h"

namespace pitwall::executor {

// Unique identity of a process; a pid alone may be reused. The uid of a JobReference with platform
// "process" is "<pid>@<node>/<start>", where start is field 22 of /proc/<pid>/stat (clock ticks
// since boot).
struct ProcessIdentity {
  int64_t pid = 0;
  std::string node;
  uint64_t start_ticks = 0;
  std::string owner;  // required owner, "uid:1000" or "pod:<uid>"; "" accepts any owner
};
// Parses a process uid. The InvalidArgument error contains the invalid part of the uid.
StatusOr<ProcessIdentity> ParseProcessUid(std::string_view uid);
std::string MakeProcessUid(const ProcessIdentity& identity);
// Parses the processes of a job on one node: "<pid>@<node>/<start>", followed by "+<pid>/<start>"
// for each further process. Never returns an empty list. InvalidArgument: the uid is invalid, or it
// ends with "+more" because the list is incomplete.
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
  // Unavailable: the process state cannot be read, so it is unknown.
  virtual StatusOr<ProcessState> Look(const ProcessIdentity& process) = 0;
  // Sends SIGTERM to exactly this process. NotFound: the process exited or was replaced.
  // Unavailable: its state cannot be read. PermissionDenied: the executor lacks permission, or the
  // owner differs. No signal is sent in any error case.
  virtual Status Terminate(const ProcessIdentity& process) = 0;
};

// Uses /proc and pidfd. The identity is checked on the same handle that is then signaled, so the
// pid cannot be reused in between (kernels before 5.3 use kill immediately after the check).
std::unique_ptr<ProcessControl> MakeLinuxProcessControl();
// Returns the start time of a live process in ticks, for references. NotFound: there is no such
// process.
StatusOr<uint64_t> ProcessStartTicks(int64_t pid);

}  // namespace pitwall::executor
