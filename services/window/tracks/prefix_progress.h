// Fill level of a window of the first samples of the attempt.
#pragma once

#include <cstdint>

namespace pitwall::window {

// Samples that it has and waits for, counting those that it skips.
struct PrefixProgress {
  int64_t has = 0;
  int64_t wants = 0;
};

}  // namespace pitwall::window
