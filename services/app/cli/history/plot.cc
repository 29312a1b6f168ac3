#include "services/app/cli/history/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/time/time.h"
#include "services/base/text/strings.h"

namespace pitwall::history_client {
namespace {

constexpr size_t kAxis = 11;  // number of columns to the left of the plot area
constexpr uint32_t kBraille = 0x2800;
// Bit for the dot at [row][column] within a braille cell, which is two dots wide and four dots
// high.
constexpr uint8_t kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

void AppendCell(uint8_t dots, std::string* out) {
  const uint32_t code = kBraille + dots;
  out->push_back(static_cast<char>(0xe0 | code >> 12));
  out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
  out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
}

std::string Padded(std::string_view text, size_t width) {
  return text.size() >= width ? std::string(text)
                              : std::string(width - text.size(), ' ') + std::string(text);
}

// Plot area made of braille dots. Row 0 is at the top.
class Field {
 public:
  Field(size_t columns, size_t lines) : columns_(columns), lines_(lines), cells_(columns * lines) {}
  size_t dots_wide() const { return columns_ * 2; }
  size_t dots_high() const { return lines_ * 4; }
  void Set(size_t x, size_t y) { cells_[y / 4 * columns_ + x / 2] |= kDots[y % 4][x % 2]; }
  void Join(size_t x0, size_t y0, size_t x1, size_t y1) {
    const auto dx = static_cast<int64_t>(x1) - static_cast<int64_t>(x0);
    const auto dy = static_cast<int64_t>(y1) - static_cast<int64_t>(y0);
    const int64_t steps = std::max<int64_t>({std::abs(dx), std::abs(dy), 1});
    for (int64_t i = 0; i <= steps; ++i)
      Set(static_cast<size_t>(static_cast<int64_t>(x0) + dx * i / steps),
          static_cast<size_t>(static_cast<int64_t>(y0) + dy * i / steps));
  }
  void AppendLine(size_t line, std::string* out) const {
    for (size_t c = 0; c < columns_; ++c) AppendCell(cells_[line * columns_ + c], out);
  }

 private:
  const size_t columns_;
  const size_t lines_;
  std::vector<uint8_t> cells_;
};

struct Scale {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
};

Scale ScaleOf(std::span<const Curve> curves) {
  Scale scale;
  for (const Curve& curve : curves) {
    for (const auto& [time, value] : curve.points) {
      if (!std::isfinite(value)) continue;
      scale.least = std::min(scale.least, value);
      scale.greatest = std::max(scale.greatest, value);
    }
  }
  return scale;
}

void Draw(const Curve& curve, const PlotOptions& options, const Scale& scale, Field* field) {
  const auto span = static_cast<double>(std::max<int64_t>(1, options.to_ns - options.from_ns));
  const double high = scale.greatest - scale.least;
  bool joined = false;
  int64_t last_ns = 0;
  size_t last_x = 0, last_y = 0;
  for (const auto& [time, value] : curve.points) {
    if (!std::isfinite(value) || time < options.from_ns || time > options.to_ns) {
      joined = false;
      continue;
    }
    const double right = static_cast<double>(time - options.from_ns) / span;
    const double down = high > 0 ? (scale.greatest - value) / high : 0.5;
    const auto x = static_cast<size_t>(right * static_cast<double>(field->dots_wide() - 1));
    const auto y =
        static_cast<size_t>(std::lround(down * static_cast<double>(field->dots_high() - 1)));
    if (joined && (options.step_ns == 0 || time - last_ns <= options.step_ns * 3 / 2)) {
      field->Join(last_x, last_y, x, y);
    } else {
      field->Set(x, y);
    }
    joined = true;
    last_ns = time;
    last_x = x;
    last_y = y;
  }
}

}  // namespace

std::string ShortNumber(double value) {
  if (!std::isfinite(value)) return FormatDouble(value);
  const double size = std::fabs(value);
  constexpr std::array<std::string_view, 5> kUnits = {"", " k", " M", " G", " T"};
  char text[32];
  if (size >= 10'000 && size < 1e16) {
    double scaled = value;
    size_t unit = 0;
    while (std::fabs(scaled) >= 999.95 && unit + 1 < kUnits.size()) {
      scaled /= 1000;
      ++unit;
    }
    std::snprintf(text, sizeof(text), "%.4g", scaled);
    return Cat(text, kUnits[unit]);
  }
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string ShortTime(int64_t time_ns) {
  const bool whole = time_ns % 1'000'000'000 == 0;
  return absl::FormatTime(whole ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M:%E3S",
                          absl::FromUnixNanos(time_ns), absl::UTCTimeZone());
}

std::string Plot(std::span<const Curve> curves, const PlotOptions& options) {
  const size_t columns = std::max<size_t>(options.width, kAxis + 20) - kAxis;
  const size_t lines = std::max<size_t>(options.height, 2);
  const Scale scale = ScaleOf(curves);
  std::string out;
  if (scale.least > scale.greatest) return "no finite values to plot\n";
  for (const Curve& curve : curves) {
    CatTo(out, curve.name, "\n");
    Field field(columns, lines);
    Draw(curve, options, scale, &field);
    for (size_t line = 0; line < lines; ++line) {
      std::string label;
      if (line == 0) label = ShortNumber(scale.greatest);
      if (line == lines - 1) label = ShortNumber(scale.least);
      CatTo(out, Padded(label, kAxis - 2), " |");
      field.AppendLine(line, &out);
      out.push_back('\n');
    }
  }
  const std::string from = ShortTime(options.from_ns);
  const std::string to = ShortTime(options.to_ns);
  CatTo(out, std::string(kAxis, ' '), from,
        Padded(to, columns > from.size() ? columns - from.size() : 0), " UTC\n");
  return out;
}

}  // namespace pitwall::history_client
