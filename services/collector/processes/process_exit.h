// Exit status of a process that is not a child, as the kernel keeps it (pidfd, Linux 6.15).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace pitwall::collector {

// Holds one file descriptor, which stays that process's although its number is used again. Needs no
// right over the process. Thread-safe.
class ProcessExit {
 public:
  // Null: no such process, no descriptor free, or a kernel without pidfd.
  static std::shared_ptr<const ProcessExit> Of(int64_t pid);
  explicit ProcessExit(int fd) : fd_(fd) {}
  ~ProcessExit();
  ProcessExit(const ProcessExit&) = delete;
  ProcessExit& operator=(const ProcessExit&) = delete;

  // True: all threads of the process have ended. Needs no further descriptor.
  bool Ended() const;
  // As wait(2) gives it, once its parent has taken it; nothing before, and on an older kernel.
  std::optional<int> Status() const;

 private:
  const int fd_;
};

}  // namespace pitwall::collector
