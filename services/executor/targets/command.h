// Runner of commands that the administrator configured.
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
  int exit_code = 0;   // 128 + n if signal n ended it
  std::string out;     // at most kMaxCommandOutput bytes
  std::string errors;  // likewise
};

inline constexpr size_t kMaxCommandOutput = size_t{64} << 10;

// Thread-safe.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Runs argv[0] (looked up in PATH, without a shell) with empty standard input. NotFound: the
  // program does not exist; DeadlineExceeded: it was killed after the timeout; Cancelled: by
  // Cancel.
  virtual StatusOr<CommandResult> Run(const std::vector<std::string>& argv, int64_t timeout_ns) = 0;
  // Kills the running commands; later calls of Run fail.
  virtual void Cancel() {}
};

// The clock is borrowed.
std::unique_ptr<CommandRunner> MakeCommandRunner(Clock* clock);

}  // namespace pitwall::executor
