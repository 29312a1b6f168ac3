// Test helper: the seed of randomized tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace pitwall {

// Returns the number in PITWALL_TEST_SEED, which repeats a failed run, or else a random number.
inline uint64_t RandomSeed() {
  const char* const fixed = std::getenv("PITWALL_TEST_SEED");
  return fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
}

}  // namespace pitwall
