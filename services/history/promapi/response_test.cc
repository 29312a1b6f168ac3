#include "services/history/promapi/response.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pitwall::promapi {
namespace {

// The expected values come from Go's strconv.AppendFloat.
TEST(FormatValue, FormatsLikeGo) {
  EXPECT_EQ(FormatValue(0), "0");
  EXPECT_EQ(FormatValue(-0.0), "-0");
  EXPECT_EQ(FormatValue(1), "1");
  EXPECT_EQ(FormatValue(-12.5), "-12.5");
  EXPECT_EQ(FormatValue(0.1), "0.1");
  EXPECT_EQ(FormatValue(0.000001), "0.000001");
  EXPECT_EQ(FormatValue(0.00000099), "9.9e-07");
  EXPECT_EQ(FormatValue(100), "100");
  EXPECT_EQ(FormatValue(123456789012345680000.0), "123456789012345680000");
  EXPECT_EQ(FormatValue(1e21), "1e+21");
  EXPECT_EQ(FormatValue(-1.5e300), "-1.5e+300");
  EXPECT_EQ(FormatValue(5e-324), "5e-324");
  EXPECT_EQ(FormatValue(std::nan("")), "NaN");
  EXPECT_EQ(FormatValue(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(FormatScientific(1), "1e+00");
  EXPECT_EQ(FormatScientific(std::numeric_limits<double>::infinity()), "+Inf");
}

TEST(AppendPoint, WritesTimeInSeconds) {
  const auto point = [](int64_t time_ns) {
    std::string out;
    AppendPoint(time_ns, 1, &out);
    return out;
  };
  EXPECT_EQ(point(1'700'000'000'000'000'000), "[1700000000,\"1\"]");
  EXPECT_EQ(point(1'700'000'000'007'999'999), "[1700000000.007,\"1\"]");
  EXPECT_EQ(point(1'700'000'000'070'000'000), "[1700000000.070,\"1\"]");
  EXPECT_EQ(point(-1'500'000'000), "[-1.500,\"1\"]");
}

TEST(Answers, MatchPrometheusFormat) {
  EXPECT_EQ(DataAnswer("[]").body, R"({"status":"success","data":[]})");
  EXPECT_EQ(DataAnswer("1", {{"b", "a", "b"}, {"i"}}).body,
            R"({"status":"success","data":1,"warnings":["a","b"],"infos":["i"]})");
  const http::HttpResponse failed = InvalidParameter("step", "no \"x\"");
  EXPECT_EQ(failed.status, 400);
  EXPECT_EQ(failed.content_type, "application/json");
  EXPECT_EQ(failed.body, R"({"status":"error","errorType":"bad_data",)"
                         R"("error":"invalid parameter \"step\": no \"x\""})");
  EXPECT_EQ(FailedRun(DeadlineExceeded("x")).status, 503);
  EXPECT_EQ(FailedRun(InvalidArgument("x")).status, 422);
  EXPECT_EQ(FailedRun(DataLoss("x")).status, 500);
  EXPECT_EQ(FormatInstant(1'700'000'000'120'000'000), "2023-11-14T22:13:20.12Z");
  EXPECT_EQ(FormatInstant(0), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace pitwall::promapi
