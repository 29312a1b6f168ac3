// Fill level of a window over the first samples of an attempt.
#pragma once

#include <cstdint>

namespace pitwall::window {

// Number of samples received and number of samples required. Both include skipped samples.
struct PrefixProgress {
  int64_t has = 0;
  int64_t wants = 0;
};

}  // namespace pitwall::window
