#include "services/base/wrapping.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

TEST(Wrapping, SumsAndDifferencesWrapAround) {
  EXPECT_EQ(Plus(2, 3), 5);
  EXPECT_EQ(Minus(2, 3), -1);
  EXPECT_EQ(Plus(INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(Plus(INT64_MIN, INT64_MIN), 0);
  EXPECT_EQ(Minus(INT64_MIN, 1), INT64_MAX);
  EXPECT_EQ(Minus(0, INT64_MIN), INT64_MIN);
  EXPECT_EQ(Minus(INT64_MAX, INT64_MIN), -1);
}

TEST(Wrapping, SumAndDifferenceAreInverse) {
  constexpr int64_t kEnds[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  for (const int64_t a : kEnds) {
    for (const int64_t b : kEnds) {
      EXPECT_EQ(Plus(Minus(a, b), b), a) << a << " " << b;
      EXPECT_EQ(Minus(Plus(a, b), b), a) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace pitwall
