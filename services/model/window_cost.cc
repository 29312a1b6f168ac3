#include "services/model/window_cost.h"

#include <array>
#include <cmath>
#include <string_view>

#include "services/base/strings.h"

namespace pitwall {

PartialSize PartialOf(WindowFunction function) {
  switch (function) {
    case WindowFunction::kSum:
    case WindowFunction::kAvg:
    case WindowFunction::kCount:
    case WindowFunction::kPresent:
    case WindowFunction::kStddev:
    case WindowFunction::kStdvar:
      return {3, false};
    case WindowFunction::kMin:
    case WindowFunction::kMax:
    case WindowFunction::kLastOverTime:
    case WindowFunction::kFirstOverTime:
      return {1, false};
    case WindowFunction::kRate:
    case WindowFunction::kIncrease:
    case WindowFunction::kDelta:
    case WindowFunction::kTsOfFirst:
    case WindowFunction::kTsOfLast:
      return {6, true};
    case WindowFunction::kResets:
    case WindowFunction::kChanges:
      return {5, false};
    case WindowFunction::kIrate:
    case WindowFunction::kIdelta:
      return {5, true};
    case WindowFunction::kLast:
    case WindowFunction::kTimestamp:
    case WindowFunction::kTsOfMin:
    case WindowFunction::kTsOfMax:
      return {2, true};
    case WindowFunction::kShare:
      return {2, true};  // for each change of state
    case WindowFunction::kDeriv:
    case WindowFunction::kIntercept:
      return {8, true};
    case WindowFunction::kQuantile:
    case WindowFunction::kMad:
    case WindowFunction::kSmoothing:
    case WindowFunction::kOutlierPeriod:
      return {};
  }
  return {};
}

bool KeepsSamples(const Demand& demand) {
  return demand.kind == WindowKind::kSamples || PartialOf(demand.function).cells == 0;
}

WindowBytes BytesOf(const Demand& demand, int64_t panes) {
  constexpr int64_t kCell = 8;
  if (KeepsSamples(demand)) {
    const int64_t sample = 2 * kCell;  // in the pane and in order, or with its position
    return {panes * sample, panes * sample};
  }
  const PartialSize partial = PartialOf(demand.function);
  // Suffixes over the panes of a block and over blocks
  // (docs/decisions/0004-windows-in-two-levels.md).
  const auto rows = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(panes)) + 3);
  const int64_t suffixes = rows * partial.cells * kCell;
  return {suffixes + panes * kCell * (partial.timed ? 2 : 1),
          suffixes + panes * kCell * partial.cells};
}

std::string BytesText(int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const double rounded = value < 10 && unit > 0 ? std::round(value * 10) / 10 : std::round(value);
  return Cat(FormatDouble(rounded), " ", kUnits[unit]);
}

}  // namespace pitwall
