// Access to the processes on the executor's machine: checks their identities and sends SIGTERM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/job.h"

namespace pitwall::executor {

// Unique identity of a process. A pid alone is not unique because it may be reused. The uid of a
// JobReference with platform "process" is "<pid>@<node>/<start>", where start is field 22 of
// /proc/<pid>/stat (clock ticks since boot).
struct ProcessIdentity {
  int64_t pid = 0;
  std::string node;
  uint64_t start_ticks = 0;
  std::string owner;  // required owner, "uid:1000" or "pod:<uid>"; "" accepts all owners
};
// Parses a process uid. An InvalidArgument error contains the invalid part of the uid.
StatusOr<ProcessIdentity> ParseProcessUid(std::string_view uid);
std::string MakeProcessUid(const ProcessIdentity& identity);
// Parses the processes of a job on one node: "<pid>@<node>/<start>", followed by "+<pid>/<start>"
// for each additional process. Never returns an empty list. Returns InvalidArgument if the uid is
// invalid, or if it ends with "+more" because the list is incomplete.
StatusOr<std::vector<ProcessIdentity>> ParseProcessUids(std::string_view uid);

enum class ProcessState {
  kRunning,
  kGone,
  kReplaced,    // a different process has the pid
  kOtherOwner,  // the process belongs to a different owner
};

// Thread-safe.
class ProcessControl {
 public:
  virtual ~ProcessControl() = default;
  // Returns the state of the process, or Unavailable if the state cannot be read.
  virtual StatusOr<ProcessState> Look(const ProcessIdentity& process) = 0;
  // Sends SIGTERM to exactly this process. Returns NotFound if the process has exited or was
  // replaced, Unavailable if its state cannot be read, and PermissionDenied if the executor lacks
  // permission or the owner differs. After an error, no signal was sent.
  virtual Status Terminate(const ProcessIdentity& process) = 0;
};

// Uses /proc and pidfd. The identity check and the signal use the same handle, so the pid cannot be
// reused in between. (On kernels before 5.3, kill is called immediately after the check.)
std::unique_ptr<ProcessControl> MakeLinuxProcessControl();
// Returns the start time of a live process in clock ticks, for use in references. Returns NotFound
// if the process does not exist.
StatusOr<uint64_t> ProcessStartTicks(int64_t pid);

}  // namespace pitwall::executor
