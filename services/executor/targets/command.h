// Programs of the administrator that are run and waited for.
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
  int exit_code = 0;   // 128 + n where signal n ended it
  std::string out;     // at most kMaxCommandOutput bytes
  std::string errors;  // the same
};

inline constexpr size_t kMaxCommandOutput = size_t{64} << 10;

// Thread-safe.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Runs argv[0] (looked up in PATH, without a shell) with an empty standard input. NotFound: no
  // such program; DeadlineExceeded: it took longer and was killed; Cancelled: by Cancel.
  virtual StatusOr<CommandResult> Run(const std::vector<std::string>& argv, int64_t timeout_ns) = 0;
  // Kills what runs; nothing is run after it.
  virtual void Cancel() {}
};

// The clock is borrowed.
std::unique_ptr<CommandRunner> MakeCommandRunner(Clock* clock);

}  // namespace pitwall::executor
