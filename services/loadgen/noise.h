// Reproducible noise. Each value depends only on the seed and its purpose, so the order of calls
// does not matter.
#pragma once

#include <cmath>
#include <cstdint>

namespace pitwall::loadgen {

// SplitMix64 hash function.
inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
inline uint64_t Mix(uint64_t seed, uint64_t a) { return Mix(seed ^ Mix(a)); }
inline uint64_t Mix(uint64_t seed, uint64_t a, uint64_t b) { return Mix(Mix(seed, a) ^ Mix(b)); }

// Returns a uniformly distributed value in [0, 1).
inline double Uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Returns an approximately normally distributed value with mean 0, standard deviation 1, and
// maximum magnitude 3.5. The value is the sum of four uniform values derived from `bits`.
inline double Bell(uint64_t bits) {
  const double sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48));
  return (sum / 65535.0 - 2.0) * 1.7320508075688772;
}

}  // namespace pitwall::loadgen
