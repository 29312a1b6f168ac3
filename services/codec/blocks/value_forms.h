// Encoders and decoders for block bodies before compression: one pair of functions for each form
// except the constant form. Values are bit patterns (std::bit_cast of double), so NaN payloads and
// -0.0 are preserved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"

namespace pitwall::blocks {

// Distinct values by bit pattern, numbered in order of first appearance. The map is reused across
// blocks to avoid allocations.
using Distinct = absl::flat_hash_map<uint64_t, uint32_t>;

// Maximum number of distinct values in a dictionary.
inline constexpr size_t kMaxDistinct = 4096;

// Writes the dictionary form. Returns false, and leaves `out` undefined, if the form does not fit
// the values. A dictionary consists of the number of distinct values (varint), their bits, and an
// index per value: one byte each, or the low bytes of all indexes followed by the high bytes.
bool WriteDictionary(std::span<const uint64_t> bits, Distinct* scratch, std::string* out);
// Writes the decimal form: u8 exponent, the first integer as a zigzag varint, then the differences
// as zigzag varints. Each value is integer / 10^exponent. The form fits only if this formula
// restores every value bit for bit.
bool WriteDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch, std::string* out);
// Writes the kExpected form: u8 exponent, then the integers as encoded by prediction.h.
bool WriteExpectedDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch,
                          std::string* out);
void WriteXor(std::span<const uint64_t> bits, std::string* out);
void WritePlanes(std::span<const uint64_t> bits, std::string* out);

// Appends `count` values. Returns DataLoss if the body is corrupt or contains a different number of
// values.
Status ReadDictionary(std::string_view body, size_t count, std::vector<double>* out);
Status ReadDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadExpectedDecimal(std::string_view body, size_t count, std::vector<double>* out);
Status ReadXor(std::string_view body, size_t count, std::vector<double>* out);
Status ReadPlanes(std::string_view body, size_t count, std::vector<double>* out);

}  // namespace pitwall::blocks
