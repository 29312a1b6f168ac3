// Fill level of a window over the first samples of an attempt.
#pragma once

#include <cstdint>

namespace pitwall::window {

// Number of samples received and number required, both including skipped samples.
struct PrefixProgress {
  int64_t has = 0;
  int64_t wants = 0;
};

}  // namespace pitwall::window
