// Bodies of blocks before compression: a pair of functions for each form except the constant.
// Values are bit patterns (std::bit_cast of double), so NaN payloads and -0.0 survive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"

namespace pitwall::blocks {

// Distinct values by bit pattern, with their order of first appearance. Reused for all blocks, so a
// block costs no allocation.
using Distinct = absl::flat_hash_map<uint64_t, uint32_t>;

// Maximum number of distinct values in a dictionary.
inline constexpr size_t kMaxDistinct = 4096;

// Returns false if the form does not fit the values; `out` is then undefined.
// Dictionary: varint number of distinct values, their bits, then an index per value: one byte each,
// or the low bytes of all and then the high bytes.
bool WriteDictionary(std::span<const uint64_t> bits, Distinct* scratch, std::string* out);
// Decimal: u8 exponent, then zigzag varints: the first integer, then differences. Value = integer /
// 10^exponent. The form fits only if this restores each value bit by bit.
bool WriteDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch, std::string* out);
// Expected: u8 exponent, then the integers as prediction.h writes them.
bool WriteExpectedDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch,
                          std::string* out);
void WriteXor(std::span<const uint64_t> bits, std::string* out);
void WritePlanes(std::span<const uint64_t> bits, std::string* out);

// Appends `count` values. DataLoss: damaged, or another number of values.
Status ReadDictionary(std::string_view body, size_t count, std::vector<double>* out);
Status ReadDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadExpectedDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadXor(std::string_view body, size_t count, std::vector<double>* out);
Status ReadPlanes(std::string_view body, size_t count, std::vector<double>* out);

}  // namespace pitwall::blocks
