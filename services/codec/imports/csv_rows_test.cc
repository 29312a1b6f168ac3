#include "services/codec/imports/csv_rows.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::imports {
namespace {

class CsvRowsTest : public ::testing::Test {
 protected:
  // Feeds the text byte by byte and returns the rows.
  std::vector<std::string> Read(std::string_view text) {
    for (const char c : text) EXPECT_TRUE(csv_.Feed({&c, 1}).ok());
    EXPECT_TRUE(csv_.Finish().ok());
    return rows_;
  }

  std::vector<std::string> rows_;
  ColumnNames names_{RowLimits().columns};
  RowOutput output_{"a.csv", [this](uint32_t line, const Row& row) {
                      std::string text = Cat(line, ":");
                      for (const auto& [column, cell] : row) CatTo(text, " ", column, "=", cell);
                      rows_.push_back(std::move(text));
                      return OkStatus();
                    }};
  CsvRows csv_{',', {.row_bytes = 40}, &names_, &output_};
};

TEST_F(CsvRowsTest, ReadsQuotedCells) {
  EXPECT_EQ(Read("a,b\n\"x,\"\"y\"\"\",1\n\"two\nlines\",2"),
            (std::vector<std::string>{"2: a=x,\"y\" b=1", "3: a=two\nlines b=2"}));
}

TEST_F(CsvRowsTest, SkipsRowsOfWrongWidthAndLongRows) {
  EXPECT_EQ(Read("a,b\n1\n1,2\n1,1234567890123456789012345678901234567890\n3,4\n"),
            (std::vector<std::string>{"3: a=1 b=2", "5: a=3 b=4"}));
  EXPECT_EQ(output_.skipped().skipped(), 2U);
  EXPECT_EQ(output_.rows_before(), 3U);
}

TEST_F(CsvRowsTest, RereadsLinesAfterStrayQuote) {
  EXPECT_EQ(Read("a,b\n\"1,2\n3,4\n"), (std::vector<std::string>{"3: a=3 b=4"}));
}

TEST_F(CsvRowsTest, RepeatedHeaderReordersColumns) {
  EXPECT_EQ(Read("a,b\n1,2\nb,a\n3,4\n"), (std::vector<std::string>{"2: a=1 b=2", "4: b=3 a=4"}));
  EXPECT_FALSE(names_.Twice("a"));
}

TEST_F(CsvRowsTest, TruncatedHeaderIsRejected) {
  ASSERT_TRUE(csv_.Feed("a,b").ok());
  EXPECT_EQ(ToStd(csv_.SkipCutRow("truncated").message()), "a.csv:1:1: truncated");
}

}  // namespace
}  // namespace pitwall::imports
