// Liveness of client processes, and their exit status if the system provides it.
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

// Identity of one process. The start time distinguishes the process from later processes with the
// same PID. A PID of 0 means that the process is unknown.
struct ProcessKey {
  int64_t pid = 0;
  uint64_t start_ticks = 0;
  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

// Memory layout of the program that a process runs. It changes on exec. All fields are zero if the
// kernel does not permit this process to read the layout.
struct ProcessImage {
  uint64_t start_code = 0;
  uint64_t end_code = 0;
  uint64_t start_stack = 0;
  bool known() const { return start_code > 1; }
  friend bool operator==(const ProcessImage&, const ProcessImage&) = default;
};

struct WatchedProcess {
  ProcessKey self;
  ProcessImage image;                 // image at the start of the watch
  std::vector<ProcessKey> ancestors;  // nearest first; process 1 is excluded
  std::string oom_file;  // file with the out-of-memory kills of its cgroup; "" if unknown
  std::shared_ptr<const ProcessExit>
      exit;  // if null, the end is visible only in /proc, until the parent reaps the process
};

// End of a process or of its program (exec counts as exit code 0). If there is neither a signal nor
// a code, the cause of the end is unknown. Since Linux 6.15, the kernel keeps the status for
// processes that opened a pidfd in time. On older kernels, only the parent and readers of the
// unreaped zombie can get the status.
struct ProcessEnd {
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
};

// Not thread-safe.
class ProcessWatch {
 public:
  explicit ProcessWatch(std::string root) : root_(std::move(root)) {}

  // Starts watching the peer. The PID in the result is 0 if /proc does not show the peer.
  WatchedProcess Begin(const Peer& peer);
  // Resumes watching a process that a previous collector watched, if it is still running.
  void Follow(WatchedProcess* process) const;
  // Returns false only if the process has definitely ended. Returns true if the state of the
  // process cannot be read.
  bool Runs(const ProcessKey& process) const;
  // Returns the parent, or nullopt if the process or its parent has exited or cannot be read.
  std::optional<ProcessKey> ParentOf(int64_t pid) const;
  // Returns the end, or nullopt while the process is running or its state cannot be read.
  std::optional<ProcessEnd> EndOf(const WatchedProcess& process);
  // Updates the out-of-memory kill counts for these processes and forgets all others. If a process
  // survives a kill, the victim was another process in its cgroup, for example a data loader
  // worker.
  void ReadOomCounts(const std::vector<const WatchedProcess*>& watched);

 private:
  std::string OomFileOf(int64_t pid) const;
  bool IsBeingKilled(int64_t pid) const;

  const std::string root_;
  // Number of kills that each process has survived, by PID and start time. If the count of a
  // process cannot be read, its death is not attributed to the out-of-memory killer.
  std::map<std::pair<int64_t, uint64_t>, uint64_t> survived_;
};

}  // namespace pitwall::collector
