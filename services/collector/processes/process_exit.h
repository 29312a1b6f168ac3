// Exit status of a process that is not a child, as kept by the kernel (pidfd, Linux 6.15).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace pitwall::collector {

// Holds a file descriptor that refers to the process even if its PID is reused. Requires no
// permission for the process. Thread-safe.
class ProcessExit {
 public:
  // Returns null if there is no such process, no free descriptor, or no pidfd support.
  static std::shared_ptr<const ProcessExit> Of(int64_t pid);
  explicit ProcessExit(int fd) : fd_(fd) {}
  ~ProcessExit();
  ProcessExit(const ProcessExit&) = delete;
  ProcessExit& operator=(const ProcessExit&) = delete;

  // Returns true if all threads of the process have ended. Opens no other descriptor.
  bool Ended() const;
  // Returns the wait(2) status after the parent has reaped the process; nullopt before that and on
  // older kernels.
  std::optional<int> Status() const;

 private:
  const int fd_;
};

}  // namespace pitwall::collector
