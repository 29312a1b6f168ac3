// Report as a document with sections of text, tables, and charts. The HTML and JSON forms are
// written from this document, so both contain the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pitwall::history {

// Unit of the numbers in a column or on an axis.
enum class Unit {
  kText,
  kName,  // name of a rule, metric, or operator, shown unchanged
  kCount,
  kNumber,
  kRatio,
  kSeconds,
  kBytes,
  kByteRate,
  kTime,  // ns since 1970
  kStep,
  kWord,  // one of a fixed set of identifiers; underscores are shown as spaces
};
std::string_view UnitName(Unit unit);  // "text", "name", "count", …

// Table cell: empty, a number, an integer (counts, steps, times), or a string.
using Cell = std::variant<std::monostate, double, int64_t, std::string>;
inline Cell CountCell(uint64_t count) { return static_cast<int64_t>(count); }
// Create cells for a time and an index. Unknown values (a time of 0, or a negative rank or step)
// result in empty cells.
inline Cell TimeCell(int64_t ns) { return ns == 0 ? Cell() : Cell(ns); }
inline Cell IndexCell(int64_t index) { return index < 0 ? Cell() : Cell(index); }

struct Paragraph {
  enum class Tone { kPlain, kGood, kNote, kBad };
  std::string id;
  std::string text;
  Tone tone = Tone::kPlain;
};

struct Column {
  std::string key;
  std::string title;
  Unit unit = Unit::kText;
};
using Row = std::vector<Cell>;  // one cell per column
struct Table {
  std::string id;
  std::string caption;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Unit> row_units;  // units by row for kNumber columns; may be empty
  uint64_t left_out = 0;        // number of rows omitted because of the limit
  Unit UnitAt(size_t row, size_t column) const {
    const Unit unit = columns[column].unit;
    return unit == Unit::kNumber && row < row_units.size() ? row_units[row] : unit;
  }
};

// Named value with its own unit.
struct Fact {
  std::string key;
  std::string title;
  Unit unit = Unit::kText;
  Cell value;
};
struct Facts {
  std::string id;
  std::string caption;
  std::vector<Fact> facts;
};

struct Line {
  std::string name;
  std::vector<int64_t> x;  // ns or steps, ascending
  std::vector<double> y;   // NaN marks a gap
  bool dots = false;       // draws points without a connecting line
};
struct Stretch {
  std::string name;  // "pending" or "firing"
  int64_t from = 0;
  int64_t to = 0;
};
struct LineChart {
  std::string id;
  std::string caption;
  Unit x = Unit::kTime;
  Unit y = Unit::kNumber;
  std::vector<Line> lines;
  std::optional<double> threshold;
  std::vector<Stretch> stretches;
};

struct Bar {
  std::string name;
  double value = 0;
};
// Bars side by side. If the values are shares, the bars are parts of a whole.
struct BarChart {
  std::string id;
  std::string caption;
  Unit unit = Unit::kNumber;
  bool whole = false;
  std::vector<Bar> bars;
};

struct Box {
  std::string name;
  double min = 0, p5 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0, max = 0;
};
// Box from p25 to p75 with the median, whiskers from p5 to p95, and dots at the minimum and
// maximum.
struct BoxChart {
  std::string id;
  std::string caption;
  Unit unit = Unit::kNumber;
  std::vector<Box> boxes;
};

using Block = std::variant<Paragraph, Facts, Table, LineChart, BarChart, BoxChart>;

struct Section {
  std::string id;
  std::string title;
  bool inner = false;  // true if this is a subsection of the preceding section
  std::vector<Block> blocks;
};

struct Document {
  std::string job;  // job ID
  std::string name;
  std::string state;  // "running" or "ended"
  int64_t from_ns = 0;
  int64_t as_of_ns = 0;  // time of the job's newest data
  std::string version;   // Pitwall version
  std::string link;      // URL of the job page; "" if unknown
  std::vector<Section> sections;
};

}  // namespace pitwall::history
