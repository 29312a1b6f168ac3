// Hashes that are stable across machines and versions: events, files, and the wire contain them.
// (absl::Hash is seeded per process and must never leave it.) XXH3, little-endian result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pitwall {

uint64_t StableHash64(std::string_view bytes);
// Returns 128 bits as 32 lower-case hex digits.
std::string StableHashHex(std::string_view bytes);
// Returns XXH64 with seed 0, by which Prometheus samples label sets.
uint64_t XxHash64(std::string_view bytes);
uint32_t Crc32c(std::string_view bytes, uint32_t seed = 0);
namespace internal {
uint32_t Crc32cByTables(std::string_view bytes,
                        uint32_t seed);  // for CPUs without the instruction
}  // namespace internal
// Partitioner of every topic (Kafka's murmur2, as in Java clients and murmur2_random of librdkafka
// for keys).
uint32_t Murmur2(std::string_view key);
inline int32_t PartitionOf(std::string_view key, int32_t partitions) {
  return static_cast<int32_t>((Murmur2(key) & 0x7fffffffU) % static_cast<uint32_t>(partitions));
}

}  // namespace pitwall
