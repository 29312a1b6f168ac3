// Tests for the function table's documentation and the properties that static_assert cannot check.
#include "services/model/windows/function_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using ::testing::HasSubstr;

std::string TextOfFile(const std::string& path) {
  const std::ifstream in(path);  // tests run in the root of the repository
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// Snapshots and rule sets contain these numbers, so new rows must be added after the existing rows
// of their kind.
TEST(FunctionTable, NumbersAreStable) {
  EXPECT_EQ(static_cast<int>(WindowFunction::kLast), 0);
  EXPECT_EQ(static_cast<int>(WindowFunction::kSum), 2);
  EXPECT_EQ(static_cast<int>(WindowFunction::kRate), 12);
  EXPECT_EQ(static_cast<int>(WindowFunction::kDeriv), 23);
  EXPECT_EQ(static_cast<int>(WindowFunction::kQuantile), 25);
  EXPECT_EQ(static_cast<int>(WindowFunction::kShare), 28);
  EXPECT_EQ(static_cast<int>(WindowFunction::kHistogram), 34);
  EXPECT_EQ(static_cast<int>(WindowFunction::kBlockQuantile), 35);
  EXPECT_EQ(static_cast<int>(WindowFunction::kEventPeriod), 36);
  EXPECT_EQ(static_cast<int>(WindowFunction::kLongestRun), 37);
  EXPECT_EQ(static_cast<int>(FunctionId::kAbs), 0);
  EXPECT_EQ(static_cast<int>(FunctionId::kScalar), 13);
  EXPECT_EQ(static_cast<int>(FunctionId::kTimestampOf), 16);
  EXPECT_EQ(static_cast<int>(FunctionId::kYear), 38);
  EXPECT_EQ(static_cast<int>(FunctionId::kHistogramQuantile), 43);
  EXPECT_EQ(static_cast<int>(FunctionId::kBaselineScore), 49);
  EXPECT_EQ(static_cast<int>(FunctionId::kPeerRatio), 50);
}

TEST(FunctionTable, RowsAreOrderedByNumber) {
  size_t windows = 0, elements = 0;
  for (const FunctionRow* row : Functions()) {
    if (row->window.has_value()) {
      ++windows;
      EXPECT_EQ(&RowOf(*row->window), row) << row->name;
    }
    if (row->element.has_value()) {
      ++elements;
      EXPECT_EQ(&RowOf(*row->element), row) << row->name;
    }
  }
  EXPECT_GT(windows, 30U);
  EXPECT_GT(elements, 45U);
  EXPECT_EQ(RowOf(WindowFunction::kIntercept).name, "predict_linear");
}

TEST(FunctionTable, NamesAreUnique) {
  std::string_view before;
  for (const FunctionRow* row : Functions()) {
    EXPECT_LT(before, row->name);
    EXPECT_EQ(FindFunction(row->name), row);
    before = row->name;
  }
  EXPECT_EQ(FindFunction("nothing"), nullptr);
  EXPECT_EQ(FindFunction("last"), nullptr) << "unlisted";
  EXPECT_EQ(FindFunction("predict_linear")->window, std::nullopt);
}

TEST(FunctionTable, ChecksArgumentBounds) {
  const ArgumentBound above{.low = 0, .low_open = true}, whole{.low = 1, .high = 3, .whole = true};
  EXPECT_TRUE(above.Holds(1e-300));
  EXPECT_FALSE(above.Holds(0));
  EXPECT_FALSE(above.Holds(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(whole.Holds(1) && whole.Holds(3));
  EXPECT_FALSE(whole.Holds(2.5) || whole.Holds(4) || whole.Holds(0));
}

// For each extension, docs/functions.md must have a section and a table row, and docs/promql.md
// must have a table row. The summary and cost class in docs/functions.md must match the function
// table.
TEST(FunctionTable, DocumentationMatchesTable) {
  const std::string functions = TextOfFile("docs/functions.md");
  const std::string promql = TextOfFile("docs/promql.md");
  size_t own = 0;
  for (const FunctionRow* row : Functions()) {
    if (row->summary.empty()) continue;
    ++own;
    EXPECT_THAT(functions, HasSubstr(Cat("\n| [`", row->name, "`](#", row->name, ") | ",
                                         row->summary, " | ", row->cost_class, " |\n")));
    EXPECT_THAT(functions, HasSubstr(Cat("\n## ", row->name, "\n\n    ", row->name, "(")));
    EXPECT_THAT(promql, HasSubstr(Cat("\n| `", row->name, "(")));
  }
  EXPECT_GE(own, 10U);
}

// Every line of the documentation table must describe an existing function.
TEST(FunctionTable, DocumentationHasNoUnknownFunctions) {
  std::istringstream lines(TextOfFile("docs/functions.md"));
  std::string line;
  while (std::getline(lines, line)) {
    if (!StartsWith(line, "| [`")) continue;
    const std::string name = line.substr(4, line.find('`', 4) - 4);
    if (name.find(' ') != std::string::npos) continue;  // a window function
    const FunctionRow* row = FindFunction(name);
    EXPECT_TRUE(row != nullptr && !row->summary.empty()) << line;
  }
}

// Each function that reads its whole window must have a measured cost.
TEST(FunctionTable, CostsAreMeasured) {
  const std::string performance = TextOfFile("docs/performance.md");
  for (const FunctionRow* row : Functions()) {
    if (row->cost.walk < 0) continue;
    EXPECT_THAT(performance, HasSubstr(Cat("`", row->name))) << row->name;
  }
}

}  // namespace
}  // namespace pitwall
