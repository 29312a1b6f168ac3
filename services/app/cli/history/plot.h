// Formatting of numbers and curves for a terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pitwall::history_client {

// Formats a number with four significant digits: "0.1235", "12.35", "12.35 k", "1.235 G",
// "-3.2e-07", "NaN".
std::string ShortNumber(double value);
// Formats a time as "2026-01-01 00:02:11" in UTC, with milliseconds unless they are 0.
std::string ShortTime(int64_t time_ns);

struct Curve {
  std::string name;
  std::vector<std::pair<int64_t, double>> points;  // in ascending order of time; NaN is a gap
};

struct PlotOptions {
  size_t width = 80;   // line width, in columns
  size_t height = 12;  // number of lines per curve
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int64_t step_ns = 0;  // points more than 1.5 steps apart are not connected; 0 connects all
};

// Plots each curve in a separate area of braille dots. All curves share one scale. Each curve's
// plot has a line with the curve's name and shows the minimum and maximum to the left of the plot
// area. The times are below the last area.
std::string Plot(std::span<const Curve> curves, const PlotOptions& options);

}  // namespace pitwall::history_client
