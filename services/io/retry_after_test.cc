#include "services/io/retry_after.h"

#include <gtest/gtest.h>

#include "services/base/clock.h"

namespace pitwall {
namespace {

constexpr int64_t kS = kNanosPerSecond;
constexpr int64_t kWall = 1'795'269'600 * kS;  // Sat, 21 Nov 2026 14:00:00 GMT

TEST(RetryAfter, ParsesSecondsAndDates) {
  EXPECT_EQ(ParseRetryAfter("", kWall), 0);
  EXPECT_EQ(ParseRetryAfter("7", kWall), 7 * kS);
  EXPECT_EQ(ParseRetryAfter(" 7 ", kWall), 7 * kS);
  EXPECT_EQ(ParseRetryAfter("1.5", kWall), 3 * kS / 2);
  EXPECT_EQ(ParseRetryAfter("-7", kWall), 0);
  EXPECT_EQ(ParseRetryAfter("nan", kWall), 0);
  EXPECT_EQ(ParseRetryAfter("999999999999", kWall), 3600 * kS);
  EXPECT_EQ(ParseRetryAfter("Sat, 21 Nov 2026 14:00:30 GMT", kWall), 30 * kS);
  EXPECT_EQ(ParseRetryAfter("Sat, 21 Nov 2026 13:00:30 GMT", kWall), 0);
  EXPECT_EQ(ParseRetryAfter("Sun, 22 Nov 2026 14:00:30 GMT", kWall), 3600 * kS);
  EXPECT_EQ(ParseRetryAfter("soon", kWall), 0);
}

TEST(RetryAfter, ParsesObsoleteDates) {
  EXPECT_EQ(ParseRetryAfter("Saturday, 21-Nov-26 14:00:30 GMT", kWall), 30 * kS);
  EXPECT_EQ(ParseRetryAfter("Sat Nov 21 14:00:30 2026", kWall), 30 * kS);
}

TEST(RetryAfter, DateIsRelativeToResponseDate) {
  HttpReply reply{503, {{"retry-after", "Sat, 21 Nov 2026 14:00:30 GMT"}}, ""};
  EXPECT_EQ(RetryAfterOf(reply), 0);
  reply.headers.emplace_back("date", "Sat, 21 Nov 2026 14:00:10 GMT");
  EXPECT_EQ(RetryAfterOf(reply), 20 * kS);
  EXPECT_EQ(RetryAfterOf({503, {{"retry-after", "7"}}, ""}), 7 * kS);
  EXPECT_EQ(RetryAfterOf({503, {}, ""}), 0);
}

TEST(RetryAfter, ClassifiesRetriableStatuses) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504, 529})
    EXPECT_TRUE(IsRetriable(status));
  for (const int status : {200, 301, 400, 401, 404, 409, 413, 501, 505})
    EXPECT_FALSE(IsRetriable(status)) << status;
}

}  // namespace
}  // namespace pitwall
