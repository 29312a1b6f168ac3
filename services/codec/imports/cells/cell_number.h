// Parser for numbers in table cells, including the units that tools print after the number.
#pragma once

#include <optional>
#include <string_view>

namespace pitwall::imports {

// Unit of a number, such as "MiB", "%", or "MHz".
struct CellUnit {
  std::string_view name;
  double scale = 1;            // size of one unit in base units
  std::string_view base = {};  // base unit: bytes, ratio, or hertz
};

struct CellNumber {
  double value = 0;                // number as it is printed
  const CellUnit* unit = nullptr;  // null if the cell has no unit
};

// Parses a number with or without a unit: "45", "45 %", "1234 MiB", "3.5e1W". Returns nullopt if
// the cell is not a number.
std::optional<CellNumber> ParseCellNumber(std::string_view cell);

// Returns true if the cell contains a placeholder for a missing value: "", "N/A", "[Not
// Supported]", or "None". "nan" is a number.
bool IsMissingCell(std::string_view cell);

// Unit of the numbers in one column, determined by the first number. Numbers without a unit use the
// column's unit.
class ColumnUnit {
 public:
  // Returns the number in base units, or in the unit of the column's first number if `keep_unit` is
  // set. Returns nullopt if the number's unit cannot be converted to the column's unit.
  std::optional<double> Convert(const CellNumber& number, bool keep_unit);

 private:
  bool known_ = false;
  const CellUnit* unit_ = nullptr;
};

}  // namespace pitwall::imports
