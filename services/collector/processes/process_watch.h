// Liveness of client processes, and their exit status where the system provides it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/collector/processes/peer_process.h"
#include "services/collector/processes/process_exit.h"

namespace pitwall::collector {

// Identity of one process. The start time distinguishes it from later processes with the same PID.
// PID 0 means unknown.
struct ProcessKey {
  int64_t pid = 0;
  uint64_t start_ticks = 0;
  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

// Address layout of the program that a process runs, which exec changes. All zeros if the kernel
// does not let this process read it.
struct ProcessImage {
  uint64_t start_code = 0;
  uint64_t end_code = 0;
  uint64_t start_stack = 0;
  bool known() const { return start_code > 1; }
  friend bool operator==(const ProcessImage&, const ProcessImage&) = default;
};

struct WatchedProcess {
  ProcessKey self;
  ProcessImage image;                 // at the start of the watch
  std::vector<ProcessKey> ancestors;  // nearest first, without process 1
  std::string oom_file;  // file with the out-of-memory kills of its cgroup; "": unknown
  std::shared_ptr<const ProcessExit>
      exit;  // null: the end is only visible in /proc, until the parent reaps the process
};

// End of a process, or of its program: exec counts as exit code 0. Without signal and code, only
// the fact of the end is known. Since Linux 6.15, the kernel keeps the status for processes that
// opened a pidfd in time. On older kernels, only the parent and readers of the unreaped zombie can
// get it.
struct ProcessEnd {
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
};

// Not thread-safe.
class ProcessWatch {
 public:
  explicit ProcessWatch(std::string root) : root_(std::move(root)) {}

  // Starts watching the peer in its current state. The PID is 0 if /proc does not show the peer.
  WatchedProcess Begin(const Peer& peer);
  // Continues the watch of a process from a previous collector, if it still runs.
  void Follow(WatchedProcess* process) const;
  // Returns false only if the process has certainly ended; true if its state cannot be read.
  bool Runs(const ProcessKey& process) const;
  // Returns nullopt if the process or its parent has exited or cannot be read.
  std::optional<ProcessKey> ParentOf(int64_t pid) const;
  // Returns nullopt while the process runs or its state cannot be read.
  std::optional<ProcessEnd> EndOf(const WatchedProcess& process);
  // Updates the out-of-memory kill counts of these processes and forgets all others. Kills that a
  // process has survived hit other processes in its cgroup, for example a data loader's worker.
  void ReadOomCounts(const std::vector<const WatchedProcess*>& watched);

 private:
  std::string OomFileOf(int64_t pid) const;
  bool IsBeingKilled(int64_t pid) const;

  const std::string root_;
  // Kills that each process has survived, by PID and start. Without a readable count, no death is
  // attributed to the out-of-memory killer.
  std::map<std::pair<int64_t, uint64_t>, uint64_t> survived_;
};

}  // namespace pitwall::collector
