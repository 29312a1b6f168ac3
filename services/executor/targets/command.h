// Runner for commands that an administrator configured.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace pitwall::executor {

struct CommandResult {
  int exit_code = 0;   // 128 + n if signal n killed the process
  std::string out;     // at most kMaxCommandOutput bytes
  std::string errors;  // at most kMaxCommandOutput bytes
};

inline constexpr size_t kMaxCommandOutput = size_t{64} << 10;

// Thread-safe.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Runs argv[0] (looked up in PATH, without a shell) with empty standard input. Returns NotFound
  // if the program does not exist, DeadlineExceeded if the program was killed after the timeout,
  // and Cancelled if Cancel was called.
  virtual StatusOr<CommandResult> Run(const std::vector<std::string>& argv, int64_t timeout_ns) = 0;
  // Kills the running commands. All later calls to Run fail.
  virtual void Cancel() {}
};

// The clock is borrowed.
std::unique_ptr<CommandRunner> MakeCommandRunner(Clock* clock);

}  // namespace pitwall::executor
