#include "services/codec/imports/traces/trace_value.h"

#include <gtest/gtest.h>

#include <string_view>

namespace pitwall::imports {
namespace {

using Progress = TraceValue::Progress;

// Reads bytes until the value ends, and returns the last progress.
Progress ReadValue(std::string_view text, TraceValue* value, bool keep = true) {
  value->Begin(text.front(), 3, keep);
  for (const char c : text.substr(1)) {
    if (const Progress progress = value->Take(c); progress != Progress::kReading) return progress;
  }
  return Progress::kReading;
}

TEST(TraceValue, EndsWithLastBracket) {
  TraceValue value(100);
  EXPECT_EQ(ReadValue("{\"a\":[1,{}]},", &value), Progress::kEnded);
  EXPECT_EQ(value.text(), "{\"a\":[1,{}]}");
  EXPECT_EQ(value.line(), 3U);
  EXPECT_FALSE(value.reading());
}

TEST(TraceValue, IgnoresBracketsAndQuotesInStrings) {
  TraceValue value(100);
  EXPECT_EQ(ReadValue("\"}\\\"]\" ", &value), Progress::kEnded);
  EXPECT_EQ(value.text(), "\"}\\\"]\"");
}

TEST(TraceValue, ScalarEndsBeforeSeparator) {
  TraceValue value(100);
  EXPECT_EQ(ReadValue("12,", &value), Progress::kEndedBefore);
  EXPECT_EQ(value.text(), "12");
}

TEST(TraceValue, TruncatesLongTextAndDiscardsUnwantedText) {
  TraceValue value(3);
  EXPECT_EQ(ReadValue("[1234]", &value), Progress::kEnded);
  EXPECT_TRUE(value.too_long());
  EXPECT_EQ(ReadValue("[1234]", &value, false), Progress::kEnded);
  EXPECT_FALSE(value.too_long());
  EXPECT_EQ(value.text(), "");
}

TEST(TraceValue, ReportsInvalidBrackets) {
  TraceValue value(100);
  EXPECT_EQ(ReadValue("[}", &value), Progress::kInvalid);
  EXPECT_EQ(value.error(), "not JSON: unmatched \"}\"");
  EXPECT_EQ(ReadValue(std::string(65, '['), &value), Progress::kInvalid);
  EXPECT_EQ(value.error(), "nested too deeply");
}

}  // namespace
}  // namespace pitwall::imports
