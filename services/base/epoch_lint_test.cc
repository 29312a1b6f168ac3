#include "services/base/epoch_lint.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

TEST(DateTakenForSeconds, DetectsYearsAndDays) {
  EXPECT_EQ(
      DateTakenForSeconds("2023"),
      "ambiguous: year or seconds since 1970? Use 2023-01-01T00:00:00Z or 2023.0 for seconds");
  EXPECT_EQ(
      DateTakenForSeconds("20231114"),
      "ambiguous: day or seconds since 1970? Use 2023-11-14T00:00:00Z or 20231114.0 for seconds");
}

TEST(DateTakenForSeconds, IgnoresSeconds) {
  for (const char* text : {"", "0", "1969", "2101", "2023.0", "-2023", "+2023", "20231301",
                           "20231132", "20230011", "1700000000", "12345678", "2e10", "2023-11-14"})
    EXPECT_EQ(DateTakenForSeconds(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pitwall
