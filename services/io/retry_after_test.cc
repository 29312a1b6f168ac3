#include "services/io/retry_after.h"

#include <gtest/gtest.h>

#include "services/base/time.h"

namespace pitwall {
namespace {

constexpr EventTime kWall =
    EventTime() + Duration::Seconds(1'795'269'600);  // Sat, 21 Nov 2026 14:00:00 GMT

TEST(RetryAfter, ParsesSecondsAndDates) {
  EXPECT_EQ(ParseRetryAfter("", kWall), Duration::Zero());
  EXPECT_EQ(ParseRetryAfter("7", kWall), Duration::Seconds(7));
  EXPECT_EQ(ParseRetryAfter(" 7 ", kWall), Duration::Seconds(7));
  EXPECT_EQ(ParseRetryAfter("1.5", kWall), Duration::Millis(1500));
  EXPECT_EQ(ParseRetryAfter("-7", kWall), Duration::Zero());
  EXPECT_EQ(ParseRetryAfter("nan", kWall), Duration::Zero());
  EXPECT_EQ(ParseRetryAfter("999999999999", kWall), Duration::Seconds(3600));
  EXPECT_EQ(ParseRetryAfter("Sat, 21 Nov 2026 14:00:30 GMT", kWall), Duration::Seconds(30));
  EXPECT_EQ(ParseRetryAfter("Sat, 21 Nov 2026 13:00:30 GMT", kWall), Duration::Zero());
  EXPECT_EQ(ParseRetryAfter("Sun, 22 Nov 2026 14:00:30 GMT", kWall), Duration::Seconds(3600));
  EXPECT_EQ(ParseRetryAfter("soon", kWall), Duration::Zero());
}

TEST(RetryAfter, ParsesObsoleteDates) {
  EXPECT_EQ(ParseRetryAfter("Saturday, 21-Nov-26 14:00:30 GMT", kWall), Duration::Seconds(30));
  EXPECT_EQ(ParseRetryAfter("Sat Nov 21 14:00:30 2026", kWall), Duration::Seconds(30));
}

TEST(RetryAfter, DateIsRelativeToResponseDate) {
  HttpReply reply{503, {{"retry-after", "Sat, 21 Nov 2026 14:00:30 GMT"}}, ""};
  EXPECT_EQ(RetryAfterOf(reply), Duration::Zero());
  reply.headers.emplace_back("date", "Sat, 21 Nov 2026 14:00:10 GMT");
  EXPECT_EQ(RetryAfterOf(reply), Duration::Seconds(20));
  EXPECT_EQ(RetryAfterOf({503, {{"retry-after", "7"}}, ""}), Duration::Seconds(7));
  EXPECT_EQ(RetryAfterOf({503, {}, ""}), Duration::Zero());
}

TEST(RetryAfter, ClassifiesRetriableStatuses) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504, 529})
    EXPECT_TRUE(IsRetriable(status));
  for (const int status : {200, 301, 400, 401, 404, 409, 413, 501, 505})
    EXPECT_FALSE(IsRetriable(status)) << status;
}

}  // namespace
}  // namespace pitwall
