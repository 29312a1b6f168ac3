// Implementation of Schubfach by Raffaello Giulietti ("The Schubfach way to render doubles", 2021):
// selects the shortest decimal that parses to the double, or the nearest one if there are several.
#include "services/base/text/shortest_decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

// Range handled by this algorithm: [kLeast, kBeyond).
constexpr double kLeast = 1e-4;
constexpr double kBeyond = 1e15;

constexpr int kSignificandBits = 52;
constexpr int kExponentBias = 1075;  // for the significand as an integer
constexpr uint64_t kHiddenBit = uint64_t{1} << kSignificandBits;
// Range of the required powers of ten, with some margin.
constexpr int kLeastPower = -20;
constexpr int kMostPower = 40;

// Most significant 128 bits of a power of ten, rounded up.
struct Power {
  uint64_t high = 0;
  uint64_t low = 0;
};

using Limbs = std::vector<uint32_t>;  // least significant limb first

void Multiply(uint32_t by, Limbs* limbs) {
  uint64_t carry = 0;
  for (uint32_t& limb : *limbs) {
    carry += uint64_t{limb} * by;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs->push_back(static_cast<uint32_t>(carry));
}

// Integer division that rounds down. Dividing repeatedly gives the same result as dividing once by
// the product.
void Divide(uint32_t by, Limbs* limbs) {
  uint64_t rest = 0;
  for (auto limb = limbs->rbegin(); limb != limbs->rend(); ++limb) {
    rest = rest << 32 | *limb;
    *limb = static_cast<uint32_t>(rest / by);
    rest %= by;
  }
  while (!limbs->empty() && limbs->back() == 0) limbs->pop_back();
}

bool BitAt(const Limbs& limbs, int at) {
  return at >= 0 && (limbs[static_cast<size_t>(at / 32)] >> (at % 32) & 1) != 0;
}

Power PowerOfTen(int exponent) {
  Limbs limbs = {1};
  bool exact = true;
  if (exponent >= 0) {
    for (int i = 0; i < exponent; ++i) Multiply(10, &limbs);
  } else {
    limbs.assign(16, 0);  // 2^480, to be divided by 10^-exponent
    limbs.back() = 1;
    for (int i = 0; i < -exponent; ++i) Divide(10, &limbs);
    exact = false;
  }
  int top = static_cast<int>(limbs.size()) * 32 - 1;
  while (!BitAt(limbs, top)) --top;
  Power out;
  for (int i = 0; i < 128; ++i) {
    uint64_t& half = i < 64 ? out.high : out.low;
    half = half << 1 | (BitAt(limbs, top - i) ? 1 : 0);
  }
  for (int at = top - 128; at >= 0; --at) exact = exact && !BitAt(limbs, at);
  if (!exact && ++out.low == 0) ++out.high;
  return out;
}

const std::array<Power, kMostPower - kLeastPower + 1>& PowersOfTen() {
  static const auto powers = [] {
    std::array<Power, kMostPower - kLeastPower + 1> out;
    for (int i = kLeastPower; i <= kMostPower; ++i)
      out[static_cast<size_t>(i - kLeastPower)] = PowerOfTen(i);
    return out;
  }();
  return powers;
}

__extension__ typedef unsigned __int128 Uint128;

// Returns the upper 64 bits of the product, rounded to odd.
uint64_t RoundToOdd(const Power& power, uint64_t factor) {
  const Uint128 low = Uint128{power.low} * factor;
  const Uint128 sum = Uint128{power.high} * factor + static_cast<uint64_t>(low >> 64);
  const auto rest = static_cast<uint64_t>(sum);
  return static_cast<uint64_t>(sum >> 64) | (rest > 1 ? 1 : 0);
}

struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
};

// Returns the shortest decimal. `value`: positive and within the range above.
Decimal ShortestOf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t fraction = bits & (kHiddenBit - 1);
  const uint64_t c = fraction | kHiddenBit;
  const int q = static_cast<int>(bits >> kSignificandBits) - kExponentBias;
  if (q <= 0 && -q <= kSignificandBits && (c & ((uint64_t{1} << -q) - 1)) == 0)
    return {c >> -q, 0};  // an integer
  const bool even = c % 2 == 0;
  const bool lower_is_closer = fraction == 0;
  // floor(log10(2^q)), or floor(log10(3/4 * 2^q)) if the lower neighbor is closer.
  const int k = (q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
  const int h = q + ((-k * 1741647) >> 19) + 1;
  const Power& power = PowersOfTen()[static_cast<size_t>(-k - kLeastPower)];
  const uint64_t below = RoundToOdd(power, (4 * c - 2 + (lower_is_closer ? 1 : 0)) << h);
  const uint64_t at = RoundToOdd(power, (4 * c) << h);
  const uint64_t above = RoundToOdd(power, (4 * c + 2) << h);
  const uint64_t lower = below + (even ? 0 : 1);
  const uint64_t upper = above - (even ? 0 : 1);
  const uint64_t s = at / 4;
  if (s >= 10) {
    const uint64_t tens = s / 10;
    const bool down = lower <= 40 * tens;
    const bool up = 40 * tens + 40 <= upper;
    if (down != up) return {tens + (up ? 1 : 0), k + 1};
  }
  const bool down = lower <= 4 * s;
  const bool up = 4 * s + 4 <= upper;
  if (down != up) return {s + (up ? 1 : 0), k};
  const uint64_t middle = 4 * s + 2;
  return {s + (at > middle || (at == middle && s % 2 == 1) ? 1 : 0), k};
}

constexpr auto kPairs = [] {
  std::array<char, 200> out{};
  for (size_t i = 0; i < 100; ++i) {
    out[2 * i] = static_cast<char>('0' + i / 10);
    out[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return out;
}();

// Writes eight digits just before `end`, using independent divisions.
void WriteEight(uint32_t digits, char* end) {
  const uint32_t high = digits / 10'000, low = digits % 10'000;
  std::memcpy(end - 8, &kPairs[2 * (high / 100)], 2);
  std::memcpy(end - 6, &kPairs[2 * (high % 100)], 2);
  std::memcpy(end - 4, &kPairs[2 * (low / 100)], 2);
  std::memcpy(end - 2, &kPairs[2 * (low % 100)], 2);
}

// Writes the digits just before `end`.
void WriteDigits(uint64_t digits, char* end) {
  while (digits >= 100'000'000) {
    WriteEight(static_cast<uint32_t>(digits % 100'000'000), end);
    end -= 8;
    digits /= 100'000'000;
  }
  auto rest = static_cast<uint32_t>(digits);
  while (rest >= 100) {
    end -= 2;
    std::memcpy(end, &kPairs[2 * (rest % 100)], 2);
    rest /= 100;
  }
  if (rest >= 10) {
    std::memcpy(end - 2, &kPairs[2 * rest], 2);
  } else {
    *(end - 1) = static_cast<char>('0' + rest);
  }
}

constexpr auto kTens = [] {
  std::array<uint64_t, 20> out{1};
  for (size_t i = 1; i < out.size(); ++i) out[i] = out[i - 1] * 10;
  return out;
}();

// Returns the number of decimal digits. `number`: greater than 0.
int CountDigits(uint64_t number) {
  const int about = (std::bit_width(number) * 1233) >> 12;  // estimated from the binary logarithm
  return about + (number >= kTens[static_cast<size_t>(about)] ? 1 : 0);
}

}  // namespace

char* WriteDouble(double value, char* to) {
  const double magnitude = std::fabs(value);
  if (!(magnitude >= kLeast && magnitude < kBeyond)) {
    const std::string text = FormatDouble(value);
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  }
  Decimal decimal = ShortestOf(magnitude);
  while (decimal.exponent < 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    ++decimal.exponent;
  }
  if (value < 0) *to++ = '-';
  // The decimal has at most 17 digits and an exponent of at least -21.
  const int count = CountDigits(decimal.digits);
  if (decimal.exponent >= 0) {
    WriteDigits(decimal.digits, to + count);
    return std::fill_n(to + count, decimal.exponent, '0');
  }
  const int integral = count + decimal.exponent;
  if (integral <= 0) {
    *to++ = '0';
    *to++ = '.';
    to = std::fill_n(to, -integral, '0');
    WriteDigits(decimal.digits, to + count);
    return to + count;
  }
  // Moves the integral part left by one character to make room for the decimal point.
  WriteDigits(decimal.digits, to + 1 + count);
  for (int i = 0; i < integral; ++i) to[i] = to[i + 1];  // usually a single digit
  to[integral] = '.';
  return to + 1 + count;
}

void AppendDouble(double value, std::string* out) {
  std::array<char, kMostDoubleChars> text;
  out->append(text.data(), WriteDouble(value, text.data()));
}

}  // namespace pitwall
