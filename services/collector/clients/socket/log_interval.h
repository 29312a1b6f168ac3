// Minimum interval between log lines of the same kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "services/base/clock.h"

namespace pitwall::collector {

// Filter that admits one log line per interval and counts suppressed lines. Not thread-safe.
class LogInterval {
 public:
  static constexpr int64_t kIntervalNs = 10 * kNanosPerSecond;

  // Returns the number of lines suppressed since the last logged line, or nullopt if this line must
  // be suppressed too. `now_ns` is monotonic.
  std::optional<uint64_t> Admit(int64_t now_ns) {
    if (logged_ns_ != 0 && now_ns - logged_ns_ < kIntervalNs) {
      ++suppressed_;
      return std::nullopt;
    }
    logged_ns_ = std::max<int64_t>(now_ns, 1);
    return std::exchange(suppressed_, 0);
  }

 private:
  int64_t logged_ns_ = 0;  // 0 before the first line
  uint64_t suppressed_ = 0;
};

}  // namespace pitwall::collector
