#include "services/base/text/shortest_decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

void ExpectAsFormatted(double value) {
  for (const double v : {value, -value}) {
    std::string out = "a";
    AppendDouble(v, &out);
    ASSERT_EQ(out, Cat("a", FormatDouble(v))) << std::hexfloat << v;
  }
}

TEST(AppendDouble, EdgeCasesMatchFormatDouble) {
  for (const double value : {0.0,
                             1.0,
                             0.1,
                             0.3,
                             1e-4,
                             9.999e-5,
                             1e15,
                             1e14,
                             1e21,
                             123456789.125,
                             5e-324,
                             2.5,
                             10.0,
                             1e3,
                             std::numeric_limits<double>::infinity(),
                             std::nan(""),
                             1e-5,
                             999999999999999.9,
                             std::numeric_limits<double>::max(),
                             9007199254740993.0,
                             0.30000000000000004})
    ExpectAsFormatted(value);
  // Powers of two, which have a closer lower neighbor, and the neighbors of powers of two and ten.
  for (int exponent = -20; exponent < 60; ++exponent) {
    for (const double value : {std::ldexp(1, exponent), std::pow(10, exponent / 2)}) {
      ExpectAsFormatted(value);
      ExpectAsFormatted(std::nextafter(value, 0));
      ExpectAsFormatted(std::nextafter(value, 1e300));
    }
  }
}

TEST(AppendDouble, RandomValuesMatchFormatDouble) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    // The exponents range from 2^-16 to 2^52, so most values take the fast path.
    const uint64_t exponent = 1023 - 16 + random() % 69;
    const uint64_t bits = exponent << 52 | random() >> 12;
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    ExpectAsFormatted(value);
    ExpectAsFormatted(static_cast<double>(random() % 1'000'000) / 1000);
  }
}

}  // namespace
}  // namespace pitwall
