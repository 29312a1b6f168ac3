#include "services/base/text/stable_hash.h"

#include <xxhash.h>

#include <array>
#include <cstring>

#include "services/base/text/strings.h"

namespace pitwall {

uint64_t StableHash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t XxHash64(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::string StableHashHex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return Hex(
      std::string_view(reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)));
}

namespace {
constexpr std::array<std::array<uint32_t, 256>, 8> MakeCrcTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78U : 0);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}
constexpr auto kCrcTables = MakeCrcTables();

#if defined(__x86_64__)
// Uses a CPU instruction, which is ten times faster than the tables and gives the same result.
__attribute__((target("sse4.2"))) uint32_t Crc32cBySse42(std::string_view bytes, uint32_t seed) {
  uint64_t crc = ~seed;
  const char* data = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; data += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  uint32_t rest = static_cast<uint32_t>(crc);
  for (; left > 0; --left, ++data) {
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*data));
  }
  return ~rest;
}
#endif
}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return Crc32cBySse42(bytes, seed);
#endif
  return internal::Crc32cByTables(bytes, seed);
}

uint32_t internal::Crc32cByTables(std::string_view bytes, uint32_t seed) {
  uint32_t crc = ~seed;
  const char* data = bytes.data();
  size_t left = bytes.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    word ^= crc;
    crc = kCrcTables[7][word & 0xff] ^ kCrcTables[6][(word >> 8) & 0xff] ^
          kCrcTables[5][(word >> 16) & 0xff] ^ kCrcTables[4][(word >> 24) & 0xff] ^
          kCrcTables[3][(word >> 32) & 0xff] ^ kCrcTables[2][(word >> 40) & 0xff] ^
          kCrcTables[1][(word >> 48) & 0xff] ^ kCrcTables[0][word >> 56];
    data += 8;
    left -= 8;
  }
  for (; left > 0; --left, ++data) {
    crc = (crc >> 8) ^ kCrcTables[0][(crc ^ static_cast<unsigned char>(*data)) & 0xff];
  }
  return ~crc;
}

uint32_t Murmur2(std::string_view key) {
  constexpr uint32_t kM = 0x5bd1e995;
  constexpr int kR = 24;
  uint32_t h = 0x9747b28cU ^ static_cast<uint32_t>(key.size());
  const char* data = key.data();
  size_t left = key.size();
  for (; left >= 4; left -= 4, data += 4) {
    uint32_t k;
    std::memcpy(&k, data, 4);
    k *= kM;
    k ^= k >> kR;
    k *= kM;
    h *= kM;
    h ^= k;
  }
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(data[i]));
  };
  if (left >= 3) h ^= byte(2) << 16;
  if (left >= 2) h ^= byte(1) << 8;
  if (left >= 1) {
    h ^= byte(0);
    h *= kM;
  }
  h ^= h >> 13;
  h *= kM;
  h ^= h >> 15;
  return h;
}

}  // namespace pitwall
