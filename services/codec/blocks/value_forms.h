// Block bodies before compression, with a pair of functions for each form except the constant form.
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

// Distinct values by bit pattern, with their order of first appearance. Reused across blocks to
// avoid allocations.
using Distinct = absl::flat_hash_map<uint64_t, uint32_t>;

// Maximum number of distinct values in a dictionary.
inline constexpr size_t kMaxDistinct = 4096;

// Returns false if the form does not fit the values; `out` is then undefined. A dictionary has the
// varint number of distinct values, their bits, and an index per value: one byte each, or the low
// bytes of all indexes followed by the high bytes.
bool WriteDictionary(std::span<const uint64_t> bits, Distinct* scratch, std::string* out);
// Decimal form: u8 exponent, the first integer as a zigzag varint, then the differences as zigzag
// varints. Value = integer / 10^exponent. The form fits only if this restores each value bit by
// bit.
bool WriteDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch, std::string* out);
// Expected form: u8 exponent, then the integers as encoded by prediction.h.
bool WriteExpectedDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch,
                          std::string* out);
void WriteXor(std::span<const uint64_t> bits, std::string* out);
void WritePlanes(std::span<const uint64_t> bits, std::string* out);

// Appends `count` values. Returns DataLoss if the body is damaged or has a different number of
// values.
Status ReadDictionary(std::string_view body, size_t count, std::vector<double>* out);
Status ReadDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadExpectedDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadXor(std::string_view body, size_t count, std::vector<double>* out);
Status ReadPlanes(std::string_view body, size_t count, std::vector<double>* out);

}  // namespace pitwall::blocks
