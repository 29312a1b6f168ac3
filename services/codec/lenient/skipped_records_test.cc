#include "services/codec/lenient/skipped_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::lenient {
namespace {

TEST(SkippedRecords, InvalidRecord_IsCountedWithItsLocation) {
  SkippedRecords skipped("row");
  skipped.Use();
  for (int line = 2; line < 7; ++line)
    EXPECT_TRUE(skipped.SkipInvalid(InvalidArgument(Cat("a.csv:", line, ":1: bad"))).ok());
  EXPECT_EQ(skipped.skipped(), 5u);
  EXPECT_THAT(skipped.first(),
              ::testing::ElementsAre("a.csv:2:1: bad", "a.csv:3:1: bad", "a.csv:4:1: bad"));
  EXPECT_TRUE(skipped.Finish("a.csv").ok());
}

TEST(SkippedRecords, OtherErrors_AreReturnedUnchanged) {
  SkippedRecords skipped("row");
  EXPECT_TRUE(absl::IsResourceExhausted(skipped.SkipInvalid(ResourceExhausted("limit"))));
  EXPECT_TRUE(skipped.SkipInvalid(OkStatus()).ok());
  EXPECT_EQ(skipped.skipped(), 0u);
}

TEST(SkippedRecords, CountsOfSeveralFiles_AreSummed) {
  SkippedRecords all("row"), file("row");
  all.Use();
  for (int line = 1; line < 3; ++line) all.Skip(Cat("a.csv:", line, ":1: bad"));
  file.Use();
  for (int line = 1; line < 3; ++line) file.Skip(Cat("b.csv:", line, ":1: bad"));
  all.Add(file);
  EXPECT_EQ(all.used(), 2u);
  EXPECT_EQ(all.skipped(), 4u);
  EXPECT_THAT(all.first(),
              ::testing::ElementsAre("a.csv:1:1: bad", "a.csv:2:1: bad", "b.csv:1:1: bad"));
}

TEST(SkippedRecords, NoUsableRecord_InputIsRejected) {
  SkippedRecords skipped("row");
  skipped.Skip("a.csv:2:1: bad");
  EXPECT_EQ(ToStd(skipped.Finish("a.csv").message()), "a.csv:2:1: bad");
}

}  // namespace
}  // namespace pitwall::lenient
