// Sample values: doubles with two special NaNs, which are distinguished by their bits, never by ==.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace pitwall {

// Prometheus's stale marker, which ends a series (value/value.go, 0x7ff0000000000002).
inline constexpr uint64_t kStaleBits = 0x7ff0000000000002ULL;
// Missing value in a cell of a frame. Occurs only in frames and is never stored in a window.
inline constexpr uint64_t kMissingBits = 0x7ff0000000000003ULL;
inline constexpr uint64_t kNormalNanBits = 0x7ff8000000000001ULL;

inline double StaleMarker() { return std::bit_cast<double>(kStaleBits); }
inline double MissingValue() { return std::bit_cast<double>(kMissingBits); }
inline double NormalNan() { return std::bit_cast<double>(kNormalNanBits); }
inline bool IsStale(double value) { return std::bit_cast<uint64_t>(value) == kStaleBits; }
inline bool IsMissing(double value) { return std::bit_cast<uint64_t>(value) == kMissingBits; }

}  // namespace pitwall
