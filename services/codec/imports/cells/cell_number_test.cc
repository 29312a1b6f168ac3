#include "services/codec/imports/cells/cell_number.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pitwall::imports {
namespace {

TEST(CellNumber, UnitsPrintedByTools_AreParsed) {
  const auto base = [](std::string_view cell) {
    const auto number = ParseCellNumber(cell);
    return number ? ColumnUnit().Convert(*number, false).value_or(-1) : -2;
  };
  EXPECT_EQ(base("45"), 45);
  EXPECT_EQ(base(" 45 % "), 0.45);
  EXPECT_EQ(base("45%"), 0.45);
  EXPECT_EQ(base("1234 MiB"), 1234.0 * 1024 * 1024);
  EXPECT_EQ(base("2 GB"), 2e9);
  EXPECT_EQ(base("1410 MHz"), 1.41e9);
  EXPECT_EQ(base("68.25 W"), 68.25);
  EXPECT_EQ(base("35 \xc2\xb0\x43"), 35);
  EXPECT_EQ(base("1.5e3 ms"), 1.5);
  EXPECT_TRUE(std::isnan(base("nan")));
  for (const std::string_view wrong : {"", "%", "x %", "4 5 %", "12 furlongs", "1,234", "infs"})
    EXPECT_EQ(base(wrong), -2) << wrong;
}

TEST(CellNumber, MissingValues_AreRecognized) {
  for (const std::string_view missing :
       {"", " ", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "None", "null", "-", "ERR!"})
    EXPECT_TRUE(IsMissingCell(missing)) << missing;
  for (const std::string_view present : {"nan", "0", "-1", "[1", "abc"})
    EXPECT_FALSE(IsMissingCell(present)) << present;
}

TEST(ColumnUnit, MixedUnits_AreConvertedToFirstUnit) {
  ColumnUnit column;
  EXPECT_EQ(column.Convert(*ParseCellNumber("512 MiB"), true), 512);
  EXPECT_EQ(column.Convert(*ParseCellNumber("2 GiB"), true), 2048);
  EXPECT_EQ(column.Convert(*ParseCellNumber("100"), true), 100);
  EXPECT_EQ(column.Convert(*ParseCellNumber("100"), false), 100.0 * 1024 * 1024);
  EXPECT_EQ(column.Convert(*ParseCellNumber("7 W"), true), std::nullopt);
  ColumnUnit bare;
  EXPECT_EQ(bare.Convert(*ParseCellNumber("45"), false), 45);
  EXPECT_EQ(bare.Convert(*ParseCellNumber("45 %"), false), std::nullopt);
}

}  // namespace
}  // namespace pitwall::imports
