#include "services/codec/imports/cells/date_time.h"

#include <gtest/gtest.h>

namespace pitwall::imports {
namespace {

constexpr int64_t kSixOClock = 1'795'759'200'000'000'000;  // 2026-11-27T06:00:00Z

TEST(DateTime, FormatsPrintedByTools_AreParsed) {
  EXPECT_EQ(ParseDateTime("2026/11/27 06:00:00.123", 0), kSixOClock + 123'000'000);
  EXPECT_EQ(ParseDateTime(" 2026-11-27 06:00:00,5 ", 0), kSixOClock + 500'000'000);
  EXPECT_EQ(ParseDateTime("2026-11-27T06:00:00Z", 3600), kSixOClock);
  EXPECT_EQ(ParseDateTime("2026-11-27T06:00:00.123456789123+00:00", 0), kSixOClock + 123'456'789);
  EXPECT_EQ(ParseDateTime("2026-11-27 15:00:00 +0900", 0), kSixOClock);
  EXPECT_EQ(ParseDateTime("2026/11/27 15:00:00", 9 * 3600), kSixOClock);
  EXPECT_EQ(ParseDateTime("2026-11-27 02:30:00-03:30", 0), kSixOClock);
}

TEST(DateTime, MalformedStrings_AreRejected) {
  for (const std::string_view wrong :
       {"", "now", "2026-11-27", "2026/11-27 06:00:00", "2026-02-30 06:00:00",
        "2026-13-01 06:00:00", "2026-11-27 24:00:00", "2026-11-27 06:60:00", "2026-11-27 06:00",
        "2026-11-27 06:00:00.", "2026-11-27 06:00:00 CET", "27/11/2026 06:00:00",
        "9999-01-01 00:00:00", "0001-01-01 00:00:00"})
    EXPECT_EQ(ParseDateTime(wrong, 0), std::nullopt) << wrong;
}

TEST(DateTime, TimeZones_AreParsed) {
  EXPECT_EQ(ParseZone("UTC"), 0);
  EXPECT_EQ(ParseZone("+09:00"), 9 * 3600);
  EXPECT_EQ(ParseZone("-0330"), -12'600);
  EXPECT_EQ(ParseZone("+09"), 9 * 3600);
  for (const std::string_view wrong : {"", "9", "+9", "+09:", "+09:0", "Europe/Berlin", "+09:00x"})
    EXPECT_EQ(ParseZone(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace pitwall::imports
