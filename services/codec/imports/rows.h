// Reader of the rows in a training log: CSV (RFC 4180, with a header), JSON lines, or a JSON
// document.
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

// Pairs of column and cell. Valid only during the call.
using Row = std::vector<std::pair<std::string_view, std::string_view>>;
// Receives a row. InvalidArgument skips the row, and any other error stops the reader. The reader
// prefixes both with file and line.
using RowSink = std::function<Status(uint32_t line, const Row& row)>;

struct RowLimits {
  size_t row_bytes = size_t{1} << 20;        // for CSV and JSON lines
  size_t document_bytes = size_t{64} << 20;  // for a JSON document, which is read as a whole
  size_t columns = 65'536;
};

// Skips and counts invalid rows: rows with a different number of cells than the header, text after
// a quoted cell, too many bytes, or no JSON object. A row that repeats the header's names, as
// restarted writers produce, becomes the header of the following rows. Padding around names is
// removed. If a JSON document is truncated, its complete rows are read.
//
// The first character that is not blank determines the format: { means JSON lines (or a document,
// if `path` is set), [ means a document, and anything else means CSV. JSON cells are numbers,
// strings, true (1), and false (0). null is an absent cell, nested objects become columns with
// dots, and lists are ignored.
class RowReader {
 public:
  // `path` contains the keys, joined with dots, that lead to the list of rows in a document, or is
  // "" for the document itself.
  RowReader(std::string name, char delimiter, std::string path, RowSink sink,
            const RowLimits& limits = {});

  // Reads the next bytes. Returns InvalidArgument if the header or document is invalid or no row is
  // valid, and ResourceExhausted if a limit is exceeded. After an error, the reader reads nothing
  // further.
  Status Feed(std::string_view bytes);
  Status Finish();
  // Skips the last row if it has no end, because it may be incomplete. Call it before Finish if the
  // input is truncated. Returns InvalidArgument if the incomplete row is the header.
  Status SkipCutRow();

  // Returns the number of rows before the current one, including skipped rows.
  uint64_t rows_before() const { return rows_ == 0 ? 0 : rows_ - 1; }
  const lenient::SkippedRecords& skipped() const { return skipped_; }
  // Returns the column names in the text, at most RowLimits::columns.
  const std::set<std::string, std::less<>>& names() const { return names_; }
  // Returns true if the header contains the column twice, so that its cells are ambiguous.
  bool Twice(std::string_view column) const { return twice_.contains(column); }

  // Returns true if the text contains the column, even without a cell: in a CSV header, or as a
  // JSON key whose value is null.
  bool Names(std::string_view column) const { return named_.contains(column); }

 private:
  enum class Kind { kUnknown, kCsv, kJsonLines, kDocument };

  Status Take(std::string_view bytes);
  Status TakeCsv(std::string_view bytes);
  Status CsvByte(char c);
  // Skips the first line of the current record, which is malformed, and reads its other lines
  // again.
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
  bool past_mark_ = false;  // the byte order mark, if any, has been consumed
  uint32_t line_ = 1;

  // State for CSV.
  std::vector<std::string> header_;
  std::vector<std::string> cells_;
  std::string cell_;
  bool quoted_ = false;      // inside quotes
  bool was_quoted_ = false;  // the cell started with a quote
  bool quote_seen_ = false;  // the last character was a quote inside quotes
  bool record_begun_ = false;
  bool skip_line_ = false;  // the rest of the line belongs to a skipped row
  uint32_t record_line_ = 1;
  std::string record_;  // bytes of the current record
  std::string again_;   // bytes to read before further input
  std::set<std::string, std::less<>> twice_;

  // Columns that occurred with an empty cell, at most RowLimits::columns.
  std::set<std::string, std::less<>> named_;
  std::set<std::string, std::less<>> names_;
  std::string rest_;  // JSON: the incomplete line, or the document so far
  uint64_t rows_ = 0;
  lenient::SkippedRecords skipped_{"row"};
};

}  // namespace pitwall::imports
