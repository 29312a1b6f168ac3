#include "services/codec/blocks/value_forms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/bit_stream.h"
#include "services/codec/blocks/prediction.h"
#include "services/codec/blocks/varint.h"

namespace pitwall::blocks {
namespace {

// Powers of ten that a double represents exactly.
constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
// Integers below this limit have an exact double representation.
constexpr double kExactLimit = 9007199254740992.0;  // 2^53

// Finds the integer n for which n / 10^exponent is bit-identical to `value`. Returns false if no
// such integer exists.
bool AsDecimal(double value, size_t exponent, int64_t* out) {
  const double scaled = std::nearbyint(value * kPowers[exponent]);
  if (!(std::fabs(scaled) < kExactLimit)) return false;  // also rejects NaN
  if (std::bit_cast<uint64_t>(scaled / kPowers[exponent]) != std::bit_cast<uint64_t>(value)) {
    return false;
  }
  *out = static_cast<int64_t>(scaled);
  return *out != 0 || !std::signbit(value);  // -0 has no integer form
}

void PutVarint(uint64_t v, std::string* out) {
  while (v >= 0x80) {
    out->push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out->push_back(static_cast<char>(v));
}

void PutBits(uint64_t bits, std::string* out) {
  std::array<char, 8> bytes;
  std::memcpy(bytes.data(), &bits, bytes.size());
  out->append(bytes.data(), bytes.size());
}

}  // namespace

bool WriteDictionary(std::span<const uint64_t> bits, Distinct* scratch, std::string* out) {
  scratch->clear();
  std::string low;
  std::string high;
  std::string table;
  low.reserve(bits.size());
  bool wide = false;
  for (const uint64_t value : bits) {
    const auto [it, added] = scratch->try_emplace(value, static_cast<uint32_t>(scratch->size()));
    if (added) {
      // Indexes do not save space if half of the values are distinct.
      if (scratch->size() > kMaxDistinct || scratch->size() * 2 > bits.size() + 2) return false;
      PutBits(value, &table);
    }
    low.push_back(static_cast<char>(it->second));
    wide = wide || it->second > 255;
  }
  if (wide) {
    high.reserve(bits.size());
    for (const uint64_t value : bits) high.push_back(static_cast<char>((*scratch)[value] >> 8));
  }
  out->clear();
  PutVarint(scratch->size(), out);
  *out += table;
  *out += low;
  *out += high;
  return true;
}

Status ReadDictionary(std::string_view body, size_t count, std::vector<double>* out) {
  BinaryReader in(body);
  const size_t distinct = in.Count(8);
  std::vector<double> table;
  if (distinct <= kMaxDistinct) {
    table.reserve(distinct);
    for (size_t i = 0; i < distinct; ++i) table.push_back(in.Double());
  }
  if (!in.ok() || table.empty()) {
    return DataLoss(Cat("block: dictionary of ", distinct, " values is malformed"));
  }
  size_t head = 1;
  for (size_t left = distinct; left >= 0x80; left >>= 7) ++head;
  const std::string_view rest = body.substr(head + distinct * 8);
  const bool wide = distinct > 256;
  if (rest.size() != count * (wide ? 2 : 1)) {
    return DataLoss(
        Cat("block: dictionary has ", rest.size(), " bytes of indexes for ", count, " values"));
  }
  const size_t before = out->size();
  out->resize(before + count);
  double* const to = out->data() + before;
  for (size_t i = 0; i < count; ++i) {
    size_t index = static_cast<uint8_t>(rest[i]);
    if (wide) index |= static_cast<size_t>(static_cast<uint8_t>(rest[count + i])) << 8;
    if (index >= table.size()) {
      out->resize(before + i);
      return DataLoss(
          Cat("block: dictionary index ", index, " is out of range (", table.size(), " values)"));
    }
    to[i] = table[index];
  }
  return OkStatus();
}

namespace {

// Converts all values to integers with the smallest exponent that fits every value.
bool AsIntegers(std::span<const uint64_t> bits, size_t* exponent, std::vector<int64_t>* out) {
  *exponent = 0;
  int64_t integer = 0;
  for (const uint64_t value : bits) {
    while (!AsDecimal(std::bit_cast<double>(value), *exponent, &integer)) {
      if (++*exponent == kPowers.size()) return false;
    }
  }
  out->clear();
  for (const uint64_t value : bits) {
    if (!AsDecimal(std::bit_cast<double>(value), *exponent, &integer)) return false;
    out->push_back(integer);
  }
  return true;
}

}  // namespace

bool WriteExpectedDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch,
                          std::string* out) {
  size_t exponent = 0;
  if (!AsIntegers(bits, &exponent, scratch)) return false;
  out->clear();
  out->push_back(static_cast<char>(exponent));
  WriteExpected(*scratch, out);
  return true;
}

Status ReadExpectedDecimal(std::string_view body, size_t count, std::vector<double>* out) {
  const size_t exponent = body.empty() ? kPowers.size() : static_cast<uint8_t>(body[0]);
  if (exponent >= kPowers.size()) {
    return DataLoss(
        Cat("block: decimal exponent is ", exponent, "; the limit is ", kPowers.size() - 1));
  }
  std::vector<int64_t> integers(count);
  RETURN_IF_ERROR(Annotate(ReadExpected(body.substr(1), integers), "block"));
  const double power = kPowers[exponent];
  for (const int64_t integer : integers) out->push_back(static_cast<double>(integer) / power);
  return OkStatus();
}

bool WriteDecimal(std::span<const uint64_t> bits, std::vector<int64_t>* scratch, std::string* out) {
  size_t exponent = 0;
  if (!AsIntegers(bits, &exponent, scratch)) return false;
  out->clear();
  out->push_back(static_cast<char>(exponent));
  int64_t before = 0;
  for (const int64_t value : *scratch) {
    PutVarint(Zigzag(value - before), out);  // below 2^54, so it cannot overflow
    before = value;
  }
  return true;
}

Status ReadDecimal(std::string_view body, size_t count, std::vector<double>* out) {
  BinaryReader in(body);
  const size_t exponent = in.U8();
  if (!in.ok() || exponent >= kPowers.size()) {
    return DataLoss(
        Cat("block: decimal exponent is ", exponent, "; the limit is ", kPowers.size() - 1));
  }
  const auto* at = reinterpret_cast<const uint8_t*>(body.data()) + 1;
  const uint8_t* const end = at + body.size() - 1;
  const double power = kPowers[exponent];
  const size_t before = out->size();
  out->resize(before + count);
  double* to = out->data() + before;
  uint64_t value = 0;  // wraps around if the bytes are corrupt
  for (size_t i = 0; i < count; ++i) {
    int64_t change = 0;
    if (!ReadVarint(&at, end, &change)) {
      out->resize(before + i);
      return DataLoss(Cat("block: decimal is truncated in value ", i, " of ", count));
    }
    value += static_cast<uint64_t>(change);
    *to++ = static_cast<double>(static_cast<int64_t>(value)) / power;
  }
  if (at != end) return DataLoss(Cat("block: decimal has ", end - at, " trailing bytes"));
  return OkStatus();
}

void WriteXor(std::span<const uint64_t> bits, std::string* out) {
  out->clear();
  BitWriter to(out);
  uint64_t before = 0;
  int leading = 65;  // leading zeros of the previous window; 65 if there is no window yet
  int length = 0;
  for (const uint64_t value : bits) {
    const uint64_t change = value ^ before;
    before = value;
    if (change == 0) {
      to.Put(0, 1);
      continue;
    }
    const int left = std::min(std::countl_zero(change), 31);
    const int right = std::countr_zero(change);
    const int meaningful = 64 - left - right;
    // Reusing the previous window is cheaper if it wastes fewer than the 11 bits that a new window
    // costs.
    const bool fits = leading <= left && leading + length >= 64 - right;
    if (fits && length - meaningful < 11) {
      to.Put(0b10, 2);
      to.Put(change >> (64 - leading - length), length);
      continue;
    }
    leading = left;
    length = meaningful;
    to.Put(0b11, 2);
    to.Put(static_cast<uint64_t>(left), 5);
    to.Put(static_cast<uint64_t>(meaningful - 1), 6);
    to.Put(change >> right, meaningful);
  }
  to.Finish();
}

Status ReadXor(std::string_view body, size_t count, std::vector<double>* out) {
  BitReader in(body);
  uint64_t value = 0;
  int leading = 0;
  int length = 0;
  for (size_t i = 0; i < count && !in.past_end(); ++i) {
    if (in.Get(1) == 1) {
      if (in.Get(1) == 1) {
        leading = static_cast<int>(in.Get(5));
        length = static_cast<int>(in.Get(6)) + 1;
      }
      if (length == 0 || leading + length > 64) {
        return DataLoss(
            Cat("block: invalid bit window (", leading, " leading zeros, ", length, " bits)"));
      }
      value ^= in.Get(length) << (64 - leading - length);
    }
    out->push_back(std::bit_cast<double>(value));
  }
  if (!in.AtEnd())
    return DataLoss(Cat("block: bits of ", count, " values are truncated or have trailing data"));
  return OkStatus();
}

void WritePlanes(std::span<const uint64_t> bits, std::string* out) {
  out->resize(bits.size() * 8);
  for (size_t plane = 0; plane < 8; ++plane) {
    char* to = out->data() + plane * bits.size();
    for (size_t i = 0; i < bits.size(); ++i) to[i] = static_cast<char>(bits[i] >> (56 - 8 * plane));
  }
}

Status ReadPlanes(std::string_view body, size_t count, std::vector<double>* out) {
  if (body.size() != count * 8) {
    return DataLoss(
        Cat("block: has ", body.size(), " bytes for ", count, " values of 8 bytes each"));
  }
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    for (size_t plane = 0; plane < 8; ++plane) {
      value = value << 8 | static_cast<uint8_t>(body[plane * count + i]);
    }
    out->push_back(std::bit_cast<double>(value));
  }
  return OkStatus();
}

}  // namespace pitwall::blocks
