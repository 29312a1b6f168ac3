// Rows of a training log: CSV (RFC 4180, with a header), JSON lines, or a JSON document.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

// Column -> cell. Valid during the call.
using Row = std::vector<std::pair<std::string_view, std::string_view>>;
// InvalidArgument skips the row; any other error stops the reader. File and line are put before
// both.
using RowSink = std::function<Status(uint32_t line, const Row& row)>;

struct RowLimits {
  size_t row_bytes = size_t{1} << 20;        // of CSV and JSON lines
  size_t document_bytes = size_t{64} << 20;  // of a JSON document, which is read as a whole
  size_t columns = 65'536;
};

// Skips and counts invalid rows: another number of cells than the header has, text behind a quoted
// cell, more bytes than a row may have, no JSON object. A row that repeats the header's names, as
// writers that are started again leave it, is the header of the rows after it. Padding around names
// is removed. Of a JSON document that is cut short the whole rows are read.
//
// What it is the first character says that is no blank: { begins JSON lines (with `path`: a
// document), [ a document, anything else CSV. Of JSON, cells are numbers, texts, true (1) and false
// (0); null is an absent cell; nested objects are columns with dots, lists are left out.
class RowReader {
 public:
  // `path`: keys with dots to the list of rows in a document; "" for the document itself.
  RowReader(std::string name, char delimiter, std::string path, RowSink sink,
            const RowLimits& limits = {});

  // InvalidArgument: the header or the document is wrong, or no row is valid; ResourceExhausted: a
  // limit. After an error nothing more is read.
  Status Feed(std::string_view bytes);
  Status Finish();
  // Before Finish: the input ends in the middle, so that a row without its end may be half a row.
  // InvalidArgument: it is the header.
  Status SkipCutRow();

  // Number of rows before the present one, with those that were skipped.
  uint64_t rows_before() const { return rows_ == 0 ? 0 : rows_ - 1; }
  const lenient::SkippedRecords& skipped() const { return skipped_; }
  // Names that the text has, at most RowLimits::columns.
  const std::set<std::string, std::less<>>& names() const { return names_; }
  // Whether the header has the column twice, so that its cells are ambiguous.
  bool Twice(std::string_view column) const { return twice_.contains(column); }

  // Of a column without a cell: whether the text names it all the same, in a CSV's header or as a
  // JSON key whose value is null.
  bool Names(std::string_view column) const { return named_.contains(column); }

 private:
  enum class Kind { kUnknown, kCsv, kJsonLines, kDocument };

  Status Take(std::string_view bytes);
  Status TakeCsv(std::string_view bytes);
  Status CsvByte(char c);
  // Skips the first line of the present record, which is malformed, and reads the others again.
  Status SkipCsvLine(std::string_view cause);
  Status Header();
  bool RepeatsHeader() const;
  void NewRecord();
  Status TakeJsonLines(std::string_view bytes);
  Status EndOfRecord();
  Status JsonLine(std::string_view line);
  Status JsonRow(uint32_t line, const nlohmann::ordered_json& object);
  Status Document();
  Status Give(uint32_t line, const Row& row);
  Status Error(std::string_view what) const;
  Status TooLong(size_t limit) const;
  void Skip(uint32_t line, std::string_view cause);

  const std::string name_;
  const char delimiter_;
  const std::string path_;
  const RowSink sink_;
  const RowLimits limits_;
  Kind kind_ = Kind::kUnknown;
  bool past_mark_ = false;  // the byte order mark, if any, is taken
  uint32_t line_ = 1;

  // CSV.
  std::vector<std::string> header_;
  std::vector<std::string> cells_;
  std::string cell_;
  bool quoted_ = false;      // inside of quotes
  bool was_quoted_ = false;  // the cell began with one
  bool quote_seen_ = false;  // the last character was a quote inside of quotes
  bool record_begun_ = false;
  bool skip_line_ = false;  // the rest of the line belongs to a skipped row
  uint32_t record_line_ = 1;
  std::string record_;  // the bytes of the record so far
  std::string again_;   // bytes to read before the next ones
  std::set<std::string, std::less<>> twice_;

  // Columns that were named with an empty cell, at most RowLimits::columns.
  std::set<std::string, std::less<>> named_;
  std::set<std::string, std::less<>> names_;
  std::string rest_;  // JSON: of a line, or the document so far
  uint64_t rows_ = 0;
  lenient::SkippedRecords skipped_{"row"};
};

}  // namespace pitwall::imports
