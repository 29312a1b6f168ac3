#include "services/codec/lenient/json_text.h"

#include <gtest/gtest.h>

namespace pitwall::lenient {
namespace {

TEST(RepairJson, ValidText_IsUnchanged) {
  for (const std::string_view text :
       {"", "{}", R"({"a\"b": [1, -2.5e3, true, null, "x\\", "\u00e4", "NaN"]})", "\"\xc3\xa4\""})
    EXPECT_EQ(RepairJson(text), text);
}

TEST(RepairJson, WriterErrors_AreRepaired) {
  EXPECT_EQ(RepairJson(R"({"NaN":NaN,"a":[Infinity,-Infinity]})"),
            R"({"NaN":"NaN","a":["+Inf","-Inf"]})");
  EXPECT_EQ(RepairJson(R"("C:\Users\new")"), R"("C:\\Users\new")");
  EXPECT_EQ(RepairJson("\"\\u12\""), "\"\\\\u12\"");
  EXPECT_EQ(RepairJson("\"a\xff\x01\n\""), "\"a???\"");
}

TEST(CloseCutJson, CompleteElements_AreKept) {
  EXPECT_EQ(CloseCutJson(R"([{"a":1},{"a":)"), R"([{"a":1}])");
  EXPECT_EQ(CloseCutJson(R"({"s":{"log":[{"a":"]}"},{"b":{"c":1},)"),
            R"({"s":{"log":[{"a":"]}"}]}})");
  for (const std::string_view text : {"", "[", R"([{"a":1)", "[]", R"([{"a":1}])", "[{]"})
    EXPECT_EQ(CloseCutJson(text), "") << text;
}

TEST(ParseJson, BrokenText_IsDiscarded) {
  EXPECT_TRUE(ParseJson("{\"a\":").is_discarded());
  EXPECT_EQ(ParseJson("[NaN]")[0], "NaN");
}

}  // namespace
}  // namespace pitwall::lenient
