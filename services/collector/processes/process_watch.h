// Watch over the processes of clients: whether each runs, and its end where the system shows it.
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

// One process: its start tells it from a later one with the same number. pid 0: not known.
struct ProcessKey {
  int64_t pid = 0;
  uint64_t start_ticks = 0;
  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

// Address layout of the program that a process runs: exec changes it. Zeros: the kernel does not
// let this process read it.
struct ProcessImage {
  uint64_t start_code = 0;
  uint64_t end_code = 0;
  uint64_t start_stack = 0;
  bool known() const { return start_code > 1; }
  friend bool operator==(const ProcessImage&, const ProcessImage&) = default;
};

struct WatchedProcess {
  ProcessKey self;
  ProcessImage image;                 // as it was when the watch began
  std::vector<ProcessKey> ancestors;  // nearest first, without process 1
  std::string oom_file;               // counts the out-of-memory kills in its cgroup; "": not known
  std::shared_ptr<const ProcessExit> exit;  // null: only /proc tells, until its parent has asked
};

// End of a process, or of its program: exec counts as exit code 0. Without signal and code, only
// the end itself is known. Since Linux 6.15 the kernel keeps the status for processes that opened a
// pidfd in time; before, only the parent and readers of the unreaped zombie get it.
struct ProcessEnd {
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
};

// Not thread-safe.
class ProcessWatch {
 public:
  explicit ProcessWatch(std::string root) : root_(std::move(root)) {}

  // The peer as it is now; pid 0 when /proc does not show it.
  WatchedProcess Begin(const Peer& peer);
  // Follows a process that an earlier collector began to watch, as long as it runs.
  void Follow(WatchedProcess* process) const;
  // False only if the system shows that it has ended; true if its state cannot be read.
  bool Runs(const ProcessKey& process) const;
  // Empty: the process or its parent is gone, or may not be read.
  std::optional<ProcessKey> ParentOf(int64_t pid) const;
  // Nothing while it runs, or while its state cannot be read.
  std::optional<ProcessEnd> EndOf(const WatchedProcess& process);
  // Reads the counts of the out-of-memory killer for these processes; forgets all others. Kills
  // that one of them has survived were of others in its cgroup: of a data loader's worker, say.
  void ReadOomCounts(const std::vector<const WatchedProcess*>& watched);

 private:
  std::string OomFileOf(int64_t pid) const;
  bool IsBeingKilled(int64_t pid) const;

  const std::string root_;
  // Kills that each process has survived, by pid and start. Without a count that could be read, no
  // death is attributed to the out-of-memory killer.
  std::map<std::pair<int64_t, uint64_t>, uint64_t> survived_;
};

}  // namespace pitwall::collector
