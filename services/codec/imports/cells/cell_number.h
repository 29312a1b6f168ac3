// Numbers in the cells of tables, with the units that tools print behind them.
#pragma once

#include <optional>
#include <string_view>

namespace pitwall::imports {

// Unit of a number: "MiB", "%", "MHz".
struct CellUnit {
  std::string_view name;
  double scale = 1;            // of one in the base unit
  std::string_view base = {};  // base unit: bytes, ratio, hertz
};

struct CellNumber {
  double value = 0;                // as printed
  const CellUnit* unit = nullptr;  // null: the cell has none
};

// Parses a number with or without a unit: "45", "45 %", "1234 MiB", "3.5e1W". Nothing if the cell
// is neither.
std::optional<CellNumber> ParseCellNumber(std::string_view cell);

// Whether the cell is one of the texts for a missing value: "", "N/A", "[Not Supported]", "None".
// "nan" is a number.
bool IsMissingCell(std::string_view cell);

// Unit of the numbers of one column. The first number decides it; a number without a unit has that
// of the column.
class ColumnUnit {
 public:
  // Returns the number in base units, or, if `keep_unit`, in the unit of the column's first number.
  // Nothing if its unit cannot be converted to that of the column.
  std::optional<double> Convert(const CellNumber& number, bool keep_unit);

 private:
  bool known_ = false;
  const CellUnit* unit_ = nullptr;
};

}  // namespace pitwall::imports
