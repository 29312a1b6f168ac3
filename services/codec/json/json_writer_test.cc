#include "services/codec/json/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace pitwall::codec {
namespace {

// Writes the array between other elements so that the commas are checked as well.
std::string AtOnce(const std::vector<double>& values) {
  JsonWriter out;
  out.BeginArray();
  out.Int(1);
  out.Numbers(values);
  out.Numbers(values);
  out.Int(2);
  out.EndArray();
  return out.Take();
}
std::string OneByOne(const std::vector<double>& values) {
  JsonWriter out;
  out.BeginArray();
  out.Int(1);
  for (int i = 0; i < 2; ++i) {
    out.BeginArray();
    for (const double value : values) std::isfinite(value) ? out.Double(value) : out.Null();
    out.EndArray();
  }
  out.Int(2);
  out.EndArray();
  return out.Take();
}

TEST(JsonWriter, NumbersMatchesElementwiseOutput) {
  const std::vector<double> some = {0.0,
                                    -0.0,
                                    1,
                                    -1.5,
                                    std::nan(""),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    1e-300,
                                    -1.7976931348623157e308,
                                    999999999999999900000.0,
                                    1e15,
                                    0.00012345678901234567};
  EXPECT_EQ(AtOnce(some),
            "[1,[0,-0.0,1,-1.5,null,null,null,1e-300,-1.7976931348623157e+308,"
            "999999999999999868928,1000000000000000,0.00012345678901234567],"
            "[0,-0.0,1,-1.5,null,null,null,1e-300,-1.7976931348623157e+308,"
            "999999999999999868928,1000000000000000,0.00012345678901234567],2]");
  std::mt19937_64 random(3);
  for (const size_t count : {0, 1, 2, 127, 128, 129, 256, 1000}) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 160));
      if (random() % 9 == 0) values.back() = some[random() % some.size()];
      if (random() % 2 == 0) values.back() = -values.back();
    }
    EXPECT_EQ(AtOnce(values), OneByOne(values)) << count;
  }
}

}  // namespace
}  // namespace pitwall::codec
