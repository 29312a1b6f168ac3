#include "services/offline/series_notation.h"

#include <gtest/gtest.h>

#include "services/model/value.h"

namespace pitwall::offline {
namespace {

using Values = std::vector<std::optional<double>>;

TEST(SeriesNotation, ParsesValuesLikePromtool) {
  EXPECT_EQ(*ParseValues("1 2.5 -3"), (Values{1, 2.5, -3}));
  EXPECT_EQ(*ParseValues("1+2x3"), (Values{1, 3, 5, 7}));
  EXPECT_EQ(*ParseValues("-2-1x2"), (Values{-2, -3, -4}));
  EXPECT_EQ(*ParseValues("4x2"), (Values{4, 4, 4}));
  EXPECT_EQ(*ParseValues("1e-3+1e-3x1"), (Values{1e-3, 2e-3}));
  EXPECT_EQ(*ParseValues("_ _x2 1"), (Values{std::nullopt, std::nullopt, std::nullopt, 1}));
  EXPECT_TRUE(IsStale(**ParseValues("stale")->begin()));
  EXPECT_TRUE(std::isnan(**ParseValues("NaN")->begin()));
  EXPECT_FALSE(ParseValues("1+x3").ok());
  EXPECT_FALSE(ParseValues("1x99999999").ok());
  EXPECT_FALSE(ParseValues("banana").ok());
}

TEST(SeriesNotation, SeriesAllowsOnlyEqualMatchers) {
  EXPECT_EQ(ParseSeries("m{a=\"b\"}")->ToString(), "m{a=\"b\"}");
  EXPECT_FALSE(ParseSeries("m{a=~\"b\"}").ok());
  EXPECT_FALSE(ParseSeries("m[5m]").ok());
  EXPECT_FALSE(ParseSeries("1 + 1").ok());
}

}  // namespace
}  // namespace pitwall::offline
