// A report as a document of texts, tables, and charts in sections. It is written as HTML and as
// JSON, so that both contain the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pitwall::history {

// Unit of the numbers of a column or an axis.
enum class Unit {
  kText,
  kName,  // a rule, metric, or operator, as written
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
std::string_view UnitName(Unit unit);  // text, name, count, …

// Nothing, a number, an integer (counts, steps, times), or a string.
using Cell = std::variant<std::monostate, double, int64_t, std::string>;
inline Cell CountCell(uint64_t count) { return static_cast<int64_t>(count); }
// Empty for unknown values: a time of 0, a negative rank or step.
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
  std::vector<Unit> row_units;  // per row, for columns of kNumber; empty: they are numbers
  uint64_t left_out = 0;        // rows beyond the limit
  Unit UnitAt(size_t row, size_t column) const {
    const Unit unit = columns[column].unit;
    return unit == Unit::kNumber && row < row_units.size() ? row_units[row] : unit;
  }
};

// A named value with its own unit.
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
  std::vector<double> y;   // NaN: a gap
  bool dots = false;       // draw points without a connecting line
};
struct Stretch {
  std::string name;  // pending, firing
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
// Bars side by side or, if the values are shares, parts of a whole.
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
// A box from p25 to p75 with the median, whiskers from p5 to p95, and dots at minimum and maximum.
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
  bool inner = false;  // subsection of the section before it
  std::vector<Block> blocks;
};

struct Document {
  std::string job;  // job ID
  std::string name;
  std::string state;  // running, ended
  int64_t from_ns = 0;
  int64_t as_of_ns = 0;  // time of its newest data
  std::string version;   // Pitwall version
  std::string link;      // URL of the job page; "": unknown
  std::vector<Section> sections;
};

}  // namespace pitwall::history
