// Hashes that are stable across machines and versions, because events, files, and messages contain
// them. (absl::Hash is seeded per process and must not be stored or sent.) Uses XXH3 with a
// little-endian result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pitwall {

uint64_t StableHash64(std::string_view bytes);
// Returns 128 bits as 32 lowercase hex digits.
std::string StableHashHex(std::string_view bytes);
// Returns XXH64 with seed 0, the hash that Prometheus uses to sample label sets.
uint64_t XxHash64(std::string_view bytes);
uint32_t Crc32c(std::string_view bytes, uint32_t seed = 0);
namespace internal {
uint32_t Crc32cByTables(std::string_view bytes,
                        uint32_t seed);  // for CPUs without the instruction
}  // namespace internal
// Returns the partition of a key in every topic (Kafka's murmur2, as in Java clients and in
// librdkafka's murmur2_random for keyed records).
uint32_t Murmur2(std::string_view key);
inline int32_t PartitionOf(std::string_view key, int32_t partitions) {
  return static_cast<int32_t>((Murmur2(key) & 0x7fffffffU) % static_cast<uint32_t>(partitions));
}

}  // namespace pitwall
