#include "services/history/report/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "services/base/text/strings.h"
#include "services/history/report/text_form.h"

namespace pitwall::history {
namespace {

constexpr double kWidth = 720;
constexpr size_t kColors = 8;

// Formats a coordinate with one decimal place.
std::string At(double value) {
  char buffer[32];
  const int length = std::snprintf(buffer, sizeof buffer, "%.1f", value);
  return {buffer, static_cast<size_t>(length)};
}

std::string Begin(double height, std::string_view caption) {
  return Cat("<svg viewBox=\"0 0 ", At(kWidth), " ", At(height), "\" role=\"img\" aria-label=\"",
             Escaped(caption), "\">");
}

std::string TextAt(double x, double y, std::string_view text, std::string_view kind) {
  return Cat("<text x=\"", At(x), "\" y=\"", At(y), "\" class=\"", kind, "\">", Escaped(text),
             "</text>");
}

// Shortens a name to at most `most` bytes without splitting a character.
std::string Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return Cat(text.substr(0, most), "…");
}

std::string ShownAt(double value, Unit unit) {
  if (unit == Unit::kTime || unit == Unit::kStep || unit == Unit::kCount)
    return Shown(Cell(static_cast<int64_t>(std::llround(value))), unit);
  return Shown(Cell(value), unit);
}

// Grid lines for an axis: round numbers that cover the range from `low` to `high`.
struct Scale {
  double low = 0, high = 1, step = 1;
};
Scale ScaleOf(double low, double high) {
  if (!(high > low)) {
    const double reach = std::max(std::fabs(low) * 0.1, 1e-9);
    low -= reach;
    high += reach;
  }
  const double rough = (high - low) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

struct Frame {
  double left = 64, right = kWidth - 12, top = 8, bottom = 170;
  double x_low = 0, x_high = 1;
  Scale y;
  double X(double x) const { return left + (x - x_low) / (x_high - x_low) * (right - left); }
  double Y(double value) const {
    return bottom - (value - y.low) / (y.high - y.low) * (bottom - top);
  }
};

std::string GridOf(const Frame& frame, Unit unit) {
  std::string out;
  for (int i = 0; i < 12; ++i) {
    const double value = frame.y.low + i * frame.y.step;
    if (value > frame.y.high + frame.y.step / 2) break;
    const double y = frame.Y(value);
    CatTo(out, "<path class=\"grid\" d=\"M", At(frame.left), " ", At(y), "H", At(frame.right),
          "\"/>", TextAt(frame.left - 6, y + 3.5, ShownAt(value, unit), "end"));
  }
  return out;
}

// Returns a line as a path, with gaps at unknown values.
std::string PathOf(const Line& line, const Frame& frame) {
  std::string out;
  bool open = false;
  for (size_t i = 0; i < line.x.size(); ++i) {
    if (!std::isfinite(line.y[i])) {
      open = false;
      continue;
    }
    const double x = frame.X(static_cast<double>(line.x[i])), y = frame.Y(line.y[i]);
    const bool alone = !open && (i + 1 == line.x.size() || !std::isfinite(line.y[i + 1]));
    if (line.dots || alone) {
      CatTo(out, "M", At(x), " ", At(y), "h0");
    } else {
      CatTo(out, open ? "L" : "M", At(x), " ", At(y));
    }
    open = !line.dots;
  }
  return out;
}

std::string LegendOf(const std::vector<std::string>& names, double y) {
  std::string out;
  double x = 64;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = Cut(names[i], 40);
    const double width = 24 + 6.4 * static_cast<double>(std::min<size_t>(name.size(), 44));
    if (x + width > kWidth) {
      x = 64;
      y += 16;
    }
    CatTo(out, "<path class=\"key c", i % kColors + 1, "\" d=\"M", At(x), " ", At(y - 4), "h12\"/>",
          TextAt(x + 16, y, name, "begin"));
    x += width;
  }
  return out;
}

double LegendHeight(const std::vector<std::string>& names) {
  double x = 64, height = 16;
  for (const std::string& full : names) {
    const double width = 24 + 6.4 * static_cast<double>(std::min<size_t>(Cut(full, 40).size(), 44));
    if (x + width > kWidth) {
      x = 64;
      height += 16;
    }
    x += width;
  }
  return height;
}

}  // namespace

std::string SvgOf(const LineChart& chart) {
  double low = INFINITY, high = -INFINITY;
  int64_t from = INT64_MAX, to = INT64_MIN;
  std::vector<std::string> names;
  for (const Line& line : chart.lines) {
    names.push_back(line.name);
    for (size_t i = 0; i < line.x.size(); ++i) {
      from = std::min(from, line.x[i]);
      to = std::max(to, line.x[i]);
      if (!std::isfinite(line.y[i])) continue;
      low = std::min(low, line.y[i]);
      high = std::max(high, line.y[i]);
    }
  }
  for (const Stretch& stretch : chart.stretches) {
    from = std::min(from, stretch.from);
    to = std::max(to, stretch.to);
  }
  if (chart.threshold.has_value() && std::isfinite(*chart.threshold)) {
    low = std::min(low, *chart.threshold);
    high = std::max(high, *chart.threshold);
  }
  if (from > to || low > high) return "";
  // An axis for ratios or times starts at 0 unless all values are close together.
  if (low > 0 && (chart.y == Unit::kRatio || chart.y == Unit::kSeconds) && low < high * 0.7)
    low = 0;
  const double legend = LegendHeight(names);
  Frame frame;
  frame.x_low = static_cast<double>(from);
  frame.x_high = to > from ? static_cast<double>(to) : static_cast<double>(from) + 1;
  frame.y = ScaleOf(low, high);
  std::string out = Begin(frame.bottom + 24 + legend, chart.caption);
  for (const Stretch& stretch : chart.stretches) {
    const double x = frame.X(static_cast<double>(stretch.from));
    const double width = std::max(1.0, frame.X(static_cast<double>(stretch.to)) - x);
    CatTo(out, "<rect class=\"", stretch.name == "pending" ? "pending" : "firing", "\" x=\"", At(x),
          "\" y=\"", At(frame.top), "\" width=\"", At(width), "\" height=\"",
          At(frame.bottom - frame.top), "\"><title>", Escaped(stretch.name), "</title></rect>");
  }
  CatTo(out, GridOf(frame, chart.y));
  for (int i = 0; i <= 3; ++i) {
    const double share = i / 3.0;
    // A double cannot represent ns since 1970 exactly, so the sum uses integers.
    const auto offset = static_cast<int64_t>(share * static_cast<double>(to - from));
    const std::string_view kind = i == 0 ? "begin" : i == 3 ? "end" : "middle";
    std::string shown = Shown(Cell(from + offset), chart.x);
    if (chart.x == Unit::kTime && i > 0) shown = shown.substr(11);
    CatTo(out, TextAt(frame.left + share * (frame.right - frame.left), frame.bottom + 16,
                      chart.x == Unit::kStep ? Cat("step ", shown) : shown, kind));
  }
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    CatTo(out, "<path class=\"", chart.lines[i].dots ? "dots" : "line", " c", i % kColors + 1,
          "\" d=\"", PathOf(chart.lines[i], frame), "\"/>");
  }
  if (chart.threshold.has_value() && std::isfinite(*chart.threshold)) {
    const double y = frame.Y(*chart.threshold);
    CatTo(out, "<path class=\"limit\" data-threshold=\"", FormatDouble(*chart.threshold),
          "\" d=\"M", At(frame.left), " ", At(y), "H", At(frame.right), "\"/>",
          TextAt(frame.right - 2, y - 4, Cat("threshold ", ShownAt(*chart.threshold, chart.y)),
                 "end bad"));
  }
  CatTo(out, LegendOf(names, frame.bottom + 34), "</svg>");
  return out;
}

size_t PartColor(std::string_view name) {
  constexpr std::pair<std::string_view, size_t> kKnown[] = {
      {"initialization", 5}, {"training loop", 1}, {"finalization", 4}, {"between attempts", 7},
      {"forward", 1},        {"backward", 2},      {"optimizer", 3},    {"collective", 4},
      {"dataloader", 5},     {"checkpoint", 6},    {"other", 7},        {"pitwall", 8}};
  for (const auto& [known, color] : kKnown) {
    if (known == name) return color;
  }
  uint32_t sum = 7;
  for (const char letter : name) sum = (sum * 31 + static_cast<unsigned char>(letter)) % 6007;
  return 1 + sum % 6;
}

std::string SvgOf(const BarChart& chart) {
  std::string out;
  if (chart.whole) {
    out = Begin(30, chart.caption);
    double x = 0;
    for (size_t i = 0; i < chart.bars.size(); ++i) {
      if (!(chart.bars[i].value > 0)) continue;
      const double width = std::min(1.0, chart.bars[i].value) * kWidth;
      const std::string text =
          Cat(chart.bars[i].name, " ", ShownAt(chart.bars[i].value, chart.unit));
      CatTo(out, "<rect class=\"part c", PartColor(chart.bars[i].name), "\" x=\"", At(x),
            "\" y=\"2\" height=\"26\" width=\"", At(width), "\"><title>", Escaped(text),
            "</title></rect>");
      if (width > 7.2 * static_cast<double>(text.size()))
        CatTo(out, TextAt(x + width / 2, 19, text, "middle on"));
      x += width;
    }
    return Cat(out, "</svg>");
  }
  double most = 0;
  for (const Bar& bar : chart.bars) {
    if (std::isfinite(bar.value)) most = std::max(most, bar.value);
  }
  out = Begin(18 * static_cast<double>(chart.bars.size()) + 4, chart.caption);
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double y = 18 * static_cast<double>(i) + 2;
    const double width =
        most > 0 && bar.value > 0 ? std::min(bar.value / most, 1.0) * (kWidth - 300) : 0;
    CatTo(out, TextAt(214, y + 12, Cut(bar.name, 32), "end"), "<rect class=\"bar\" x=\"220\" y=\"",
          At(y + 2), "\" height=\"13\" width=\"", At(width), "\"><title>", Escaped(bar.name),
          "</title></rect>", TextAt(226 + width, y + 12, ShownAt(bar.value, chart.unit), "begin"));
  }
  return Cat(out, "</svg>");
}

std::string SvgOf(const BoxChart& chart) {
  if (chart.boxes.empty()) return "";
  double low = INFINITY, high = -INFINITY;
  for (const Box& box : chart.boxes) {
    low = std::min(low, box.min);
    high = std::max(high, box.max);
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return "";
  if (low > 0) low = 0;
  const Scale scale = ScaleOf(low, high);
  const auto x_of = [&](double value) {
    return 220 + (value - scale.low) / (scale.high - scale.low) * (kWidth - 250);
  };
  const double bottom = 20 * static_cast<double>(chart.boxes.size()) + 4;
  std::string out = Begin(bottom + 20, chart.caption);
  for (int i = 0; i < 12; ++i) {
    const double value = scale.low + i * scale.step;
    if (value > scale.high + scale.step / 2) break;
    CatTo(out, "<path class=\"grid\" d=\"M", At(x_of(value)), " 0V", At(bottom), "\"/>",
          TextAt(x_of(value), bottom + 14, ShownAt(value, chart.unit), "middle"));
  }
  for (size_t i = 0; i < chart.boxes.size(); ++i) {
    const Box& box = chart.boxes[i];
    const double y = 20 * static_cast<double>(i) + 12;
    CatTo(out, TextAt(214, y + 4, Cut(box.name, 32), "end"), "<g class=\"box\"><title>",
          Escaped(Cat(box.name, ": min ", ShownAt(box.min, chart.unit), ", p5 ",
                      ShownAt(box.p5, chart.unit), ", p25 ", ShownAt(box.p25, chart.unit),
                      ", median ", ShownAt(box.p50, chart.unit), ", p75 ",
                      ShownAt(box.p75, chart.unit), ", p95 ", ShownAt(box.p95, chart.unit),
                      ", max ", ShownAt(box.max, chart.unit))),
          "</title><path class=\"whisker\" d=\"M", At(x_of(box.p5)), " ", At(y), "H",
          At(x_of(box.p95)), "\"/><rect class=\"bar\" x=\"", At(x_of(box.p25)), "\" y=\"",
          At(y - 6), "\" height=\"12\" width=\"", At(std::max(1.0, x_of(box.p75) - x_of(box.p25))),
          "\"/><path class=\"median\" d=\"M", At(x_of(box.p50)), " ", At(y - 6), "v12\"/>");
    for (const double value : {box.min, box.max})
      CatTo(out, "<circle cx=\"", At(x_of(value)), "\" cy=\"", At(y), "\" r=\"2\"/>");
    out += "</g>";
  }
  return Cat(out, "</svg>");
}

}  // namespace pitwall::history
