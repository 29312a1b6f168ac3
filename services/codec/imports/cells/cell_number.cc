#include "services/codec/imports/cells/cell_number.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

constexpr double kKibi = 1024;
constexpr std::string_view kBytes = "bytes", kRate = "bytes per second";

constexpr CellUnit kUnits[] = {
    {"%", 0.01, "ratio"},
    {"B", 1, kBytes},
    {"bytes", 1, kBytes},
    {"KiB", kKibi, kBytes},
    {"MiB", kKibi* kKibi, kBytes},
    {"GiB", kKibi* kKibi* kKibi, kBytes},
    {"TiB", kKibi* kKibi* kKibi* kKibi, kBytes},
    {"kB", 1e3, kBytes},
    {"KB", 1e3, kBytes},
    {"MB", 1e6, kBytes},
    {"GB", 1e9, kBytes},
    {"TB", 1e12, kBytes},
    {"KiB/s", kKibi, kRate},
    {"MiB/s", kKibi* kKibi, kRate},
    {"GiB/s", kKibi* kKibi* kKibi, kRate},
    {"B/s", 1, kRate},
    {"KB/s", 1e3, kRate},
    {"MB/s", 1e6, kRate},
    {"GB/s", 1e9, kRate},
    {"mW", 1e-3, "watts"},
    {"W", 1, "watts"},
    {"kW", 1e3, "watts"},
    {"J", 1, "joules"},
    {"kJ", 1e3, "joules"},
    {"Hz", 1, "hertz"},
    {"kHz", 1e3, "hertz"},
    {"MHz", 1e6, "hertz"},
    {"GHz", 1e9, "hertz"},
    {"C", 1, "celsius"},
    {"\xc2\xb0\x43", 1, "celsius"},  // Celsius with a degree sign
    {"mV", 1e-3, "volts"},
    {"V", 1, "volts"},
    {"ns", 1e-9, "seconds"},
    {"us", 1e-6, "seconds"},
    {"ms", 1e-3, "seconds"},
    {"s", 1, "seconds"},
};

constexpr std::string_view kMissing[] = {"n/a", "#n/a", "na", "none", "null", "-", "--", "err!"};

}  // namespace

std::optional<CellNumber> ParseCellNumber(std::string_view cell) {
  cell = Trim(cell);
  if (const auto bare = ParseDouble(cell)) return CellNumber{*bare};
  for (const CellUnit& unit : kUnits) {
    if (!EndsWith(cell, unit.name)) continue;
    const std::string_view number = Trim(cell.substr(0, cell.size() - unit.name.size()));
    // The number before the unit must end with a digit, so "inf" and "nan" are not split into a
    // number and a unit.
    if (number.empty() || !(std::isdigit(static_cast<unsigned char>(number.back())) != 0)) continue;
    if (const auto value = ParseDouble(number)) return CellNumber{*value, &unit};
  }
  return std::nullopt;
}

bool IsMissingCell(std::string_view cell) {
  cell = Trim(cell);
  if (cell.empty() || (cell.front() == '[' && cell.back() == ']')) return true;
  std::string lower(cell.substr(0, 8));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return cell.size() < 8 &&
         std::find(std::begin(kMissing), std::end(kMissing), lower) != std::end(kMissing);
}

std::optional<double> ColumnUnit::Convert(const CellNumber& number, bool keep_unit) {
  if (!known_) unit_ = number.unit;
  known_ = true;
  const CellUnit* unit = number.unit != nullptr ? number.unit : unit_;
  if (unit == nullptr) return number.value;
  if (unit_ == nullptr || unit->base != unit_->base) return std::nullopt;
  if (unit == unit_) return keep_unit ? number.value : number.value * unit->scale;
  return number.value * unit->scale / (keep_unit ? unit_->scale : 1);
}

}  // namespace pitwall::imports
