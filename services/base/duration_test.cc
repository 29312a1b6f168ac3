#include "services/base/duration.h"

#include <gtest/gtest.h>

#include "services/base/text/did_you_mean.h"

namespace pitwall {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kSecond = 1000 * kMilli;

TEST(Duration, ParsesPrometheusSyntax) {
  const std::pair<std::string_view, int64_t> kCases[] = {
      {"0", 0},
      {"0s", 0},
      {"324ms", 324 * kMilli},
      {"3s", 3 * kSecond},
      {"5m", 300 * kSecond},
      {"1h30m", 5400 * kSecond},
      {"4d1h", (4 * 24 + 1) * 3600 * kSecond},
      {"3w2d", 23 * 24 * 3600 * kSecond},
      {"10y", 3650LL * 24 * 3600 * kSecond},
      {"1d1h1m1s1ms", 90061 * kSecond + kMilli},
  };
  for (const auto& [text, nanos] : kCases) {
    const StatusOr<int64_t> parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, nanos) << text;
  }
  for (const std::string_view text :
       {"", "1", "1y1m1d", "-1w", "1.5d", "d", "294y", "200y10400w", "107675d", "2584200h", "5mm",
        "1m1m", "5 m", "9999999999999999999s"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Duration, FormatRoundTrips) {
  const std::pair<int64_t, std::string_view> kCases[] = {
      {0, "0s"},
      {kMilli, "1ms"},
      {90 * kSecond, "1m30s"},
      {8 * 24 * 3600 * kSecond, "8d"},
      {7 * 24 * 3600 * kSecond, "1w"},
      {3600 * kSecond, "1h"},
      {-5 * kSecond, "-5s"},
      {365LL * 24 * 3600 * kSecond, "1y"},
  };
  for (const auto& [nanos, text] : kCases) {
    EXPECT_EQ(FormatDuration(nanos), text);
    if (nanos >= 0) {
      EXPECT_EQ(*ParseDuration(text), nanos);
    }
  }
}

TEST(Nearest, SuggestsOnlyLikelyCorrections) {
  const std::string_view kNames[] = {"interval", "limit", "lookback", "hw_gpu_utilization_ratio"};
  EXPECT_EQ(NearestName("intervall", kNames), "interval");
  EXPECT_EQ(NearestName("intevral", kNames), "interval");
  EXPECT_EQ(NearestName("limt", kNames), "limit");
  EXPECT_EQ(NearestName("hw_gpu_utilization_ratio", kNames), "hw_gpu_utilization_ratio");
  EXPECT_EQ(NearestName("rules", kNames), "");
  EXPECT_EQ(DidYouMean("limt", kNames), " (did you mean \"limit\"?)");
  EXPECT_EQ(DidYouMean("zzz", kNames), "");
  EXPECT_EQ(EditDistance("abc", "abc", 3), 0);
  EXPECT_EQ(EditDistance("abc", "acb", 3), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting", 9), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3);
}

}  // namespace
}  // namespace pitwall
