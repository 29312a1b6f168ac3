#include "services/codec/imports/json_rows.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::imports {
namespace {

class JsonRowsTest : public ::testing::Test {
 protected:
  std::vector<std::string> rows_;
  ColumnNames names_{2};
  RowOutput output_{"a.json", [this](uint32_t line, const Row& row) {
                      std::string text = Cat(line, ":");
                      for (const auto& [column, cell] : row) CatTo(text, " ", column, "=", cell);
                      rows_.push_back(std::move(text));
                      return OkStatus();
                    }};
};

TEST_F(JsonRowsTest, LinesFlattenObjects) {
  JsonLines lines(100, &names_, &output_);
  ASSERT_TRUE(lines.Feed("{\"a\":{\"b\":1},\"c\":true,\"d\":null,\"e\":[1]}\n{\"a\":").ok());
  ASSERT_TRUE(lines.Feed("\"x\"}").ok());
  ASSERT_TRUE(lines.Finish().ok());
  EXPECT_EQ(rows_, (std::vector<std::string>{"1: a.b=1 c=1", "2: a=x"}));
  EXPECT_TRUE(names_.Names("d"));
  EXPECT_EQ(names_.names().size(), 2U);
}

TEST_F(JsonRowsTest, LinesSkipLongAndTruncatedRows) {
  JsonLines lines(10, &names_, &output_);
  ASSERT_TRUE(lines.Feed("{\"a\":1234567890}\n{\"a\":1}\n{\"a\"").ok());
  lines.SkipCutRow("truncated");
  ASSERT_TRUE(lines.Finish().ok());
  EXPECT_EQ(rows_, (std::vector<std::string>{"2: a=1"}));
  EXPECT_EQ(output_.skipped().skipped(), 2U);
}

TEST_F(JsonRowsTest, DocumentReadsListAtPath) {
  JsonDocument document("log.rows", 100, &names_, &output_);
  ASSERT_TRUE(document.Feed("{\"log\":{\"rows\":[{\"a\":1},{\"a\":2}]}}").ok());
  ASSERT_TRUE(document.Finish().ok());
  EXPECT_EQ(rows_, (std::vector<std::string>{"1: a=1", "2: a=2"}));
}

TEST_F(JsonRowsTest, DocumentReportsMissingKeyAndLength) {
  JsonDocument document("log", 10, &names_, &output_);
  ASSERT_TRUE(document.Feed("{\"x\":1}").ok());
  EXPECT_EQ(ToStd(document.Feed("    ").message()),
            "a.json:1:1: row or document is longer than 10 bytes");
  EXPECT_EQ(ToStd(document.Finish().message()),
            "a.json:1:1: rows: \"log\": key not found: \"log\"");
}

}  // namespace
}  // namespace pitwall::imports
