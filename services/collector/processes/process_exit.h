// Exit status of a process that is not a child. The kernel keeps the status (pidfd, Linux 6.15).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace pitwall::collector {

// Holds a file descriptor that refers to the process even if its PID is reused. Requires no
// permissions on the process. Thread-safe.
class ProcessExit {
 public:
  // Opens the process. Returns nullptr if the process does not exist, no file descriptor is
  // available, or pidfds are not supported.
  static std::shared_ptr<const ProcessExit> Of(int64_t pid);
  explicit ProcessExit(int fd) : fd_(fd) {}
  ~ProcessExit();
  ProcessExit(const ProcessExit&) = delete;
  ProcessExit& operator=(const ProcessExit&) = delete;

  // Returns true if all threads of the process have ended. Opens no additional descriptor.
  bool Ended() const;
  // Returns the wait(2) status once the parent has reaped the process. Before that, and on older
  // kernels, returns nullopt.
  std::optional<int> Status() const;

 private:
  const int fd_;
};

}  // namespace pitwall::collector
