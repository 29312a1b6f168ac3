// Text of numbers and curves for a terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pitwall::history_client {

// Returns a number with four digits: "0.1235", "12.35", "12.35 k", "1.235 G", "-3.2e-07", "NaN".
std::string ShortNumber(double value);
// Returns "2026-01-01 00:02:11" in UTC, with milliseconds unless they are 0.
std::string ShortTime(int64_t time_ns);

struct Curve {
  std::string name;
  std::vector<std::pair<int64_t, double>> points;  // ascending times; NaN: a gap
};

struct PlotOptions {
  size_t width = 80;   // of a line, in columns
  size_t height = 12;  // of a curve, in lines
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int64_t step_ns = 0;  // points further apart than 1.5 steps are not joined; 0: all are joined
};

// Plots each curve in a separate field of braille dots with a common scale: a line with the name,
// the field with the minimum and the maximum at its left, and the times below the last field.
std::string Plot(std::span<const Curve> curves, const PlotOptions& options);

}  // namespace pitwall::history_client
