#include "services/app/cli/history/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/base/text/strings.h"

namespace pitwall::history_client {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Returns the dots that are set in the plot area, by line and column.
std::vector<std::string> Dots(const std::string& plot, size_t lines) {
  std::vector<std::string> out;
  const std::vector<std::string_view> text = Split(plot, '\n');
  for (size_t line = 0; line < lines; ++line) {
    const std::string_view cells = text[1 + line].substr(11);
    std::string rows[4];
    for (size_t i = 0; i + 2 < cells.size(); i += 3) {
      const uint32_t dots = (static_cast<unsigned char>(cells[i + 1]) & 3) << 6 |
                            (static_cast<unsigned char>(cells[i + 2]) & 0x3f);
      const uint32_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
      for (size_t r = 0; r < 4; ++r) {
        for (size_t c = 0; c < 2; ++c) rows[r].push_back(dots & bits[r][c] ? '#' : '.');
      }
    }
    for (const std::string& row : rows) out.push_back(row);
  }
  return out;
}

PlotOptions Small() {
  PlotOptions options;
  options.width = 31;  // the plot area has 20 columns with 40 dots
  options.height = 3;
  options.from_ns = 0;
  options.to_ns = 39 * kSecond;
  return options;
}

TEST(Plot, Plot_RisingLine_SpansCornerToCorner) {
  const Curve curve{"x", {{0, 0}, {39 * kSecond, 11}}};
  const std::vector<std::string> dots = Dots(Plot({&curve, 1}, Small()), 3);
  ASSERT_EQ(dots.size(), 12u);
  EXPECT_EQ(dots[11].front(), '#');
  EXPECT_EQ(dots[0].back(), '#');
  EXPECT_EQ(dots[0].front(), '.');
  for (size_t x = 0; x < 40; ++x) {
    size_t lit = 0;
    for (const std::string& row : dots) lit += row[x] == '#';
    EXPECT_GE(lit, 1u) << x;
  }
}

TEST(Plot, Plot_GapOrNaN_IsNotConnected) {
  PlotOptions options = Small();
  options.step_ns = kSecond;
  const Curve gap{"x", {{0, 1}, {kSecond, 1}, {20 * kSecond, 1}, {21 * kSecond, 1}}};
  for (const std::string& row : Dots(Plot({&gap, 1}, options), 3)) EXPECT_EQ(row[10], '.');
  options.step_ns = 0;
  const Curve nan{"x", {{0, 1}, {10 * kSecond, std::nan("")}, {20 * kSecond, 1}}};
  for (const std::string& row : Dots(Plot({&nan, 1}, options), 3)) EXPECT_EQ(row[10], '.');
}

TEST(Plot, Plot_EightyColumns_FitsWidth) {
  std::vector<Curve> curves = {{"loss{rank=\"0\"}", {}}, {"loss{rank=\"1\"}", {}}};
  for (int64_t t = 0; t < 60; ++t) {
    curves[0].points.emplace_back(t * kSecond, 1 + 1e6 * static_cast<double>(t));
    curves[1].points.emplace_back(t * kSecond, 3);
  }
  PlotOptions options;
  options.height = 4;
  options.to_ns = 60 * kSecond;
  const std::string plot = Plot(curves, options);
  EXPECT_THAT(plot, testing::HasSubstr("loss{rank=\"1\"}"));
  EXPECT_THAT(plot, testing::HasSubstr("59 M |"));
  EXPECT_THAT(plot, testing::HasSubstr("1970-01-01 00:00:00"));
  EXPECT_THAT(plot, testing::HasSubstr("1970-01-01 00:01:00 UTC"));
  for (std::string_view line : Split(plot, '\n')) {
    size_t columns = 0;  // counts characters, not bytes
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    EXPECT_LE(columns, 84u) << line;
  }
}

TEST(Plot, Plot_NoFiniteValue_ExplainsEmptyPlot) {
  const Curve curve{"x", {{0, std::nan("")}, {kSecond, INFINITY}}};
  EXPECT_EQ(Plot({&curve, 1}, Small()), "no finite values to plot\n");
}

TEST(ShortNumber, ShortNumber_PrintsFourSignificantDigitsWithUnit) {
  for (const auto& [value, text] :
       {std::pair(0.0, "0"), std::pair(0.12345, "0.1235"), std::pair(9999.0, "9999"),
        std::pair(12345.0, "12.35 k"), std::pair(-1234567.0, "-1.235 M"),
        std::pair(999999.0, "1 M"), std::pair(3.2e-7, "3.2e-07"), std::pair(5e15, "5000 T"),
        std::pair(double{INFINITY}, "+Inf")})
    EXPECT_EQ(ShortNumber(value), text);
}

}  // namespace
}  // namespace pitwall::history_client
