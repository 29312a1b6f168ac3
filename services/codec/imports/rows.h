// Reader for the rows in a training log: CSV (RFC 4180, with a header), JSON lines, or a JSON
// document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/imports/column_names.h"
#include "services/codec/imports/csv_rows.h"
#include "services/codec/imports/json_rows.h"
#include "services/codec/imports/row_output.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

// Skips and counts invalid rows: rows with a different number of cells than the header, text after
// a quoted cell, too many bytes, or text that is not a JSON object. A row that repeats the header's
// names, as written by a restarted process, becomes the header of the following rows. Padding
// around names is removed. If a JSON document is truncated, its complete rows are read.
//
// The first character that is not blank determines the format: { means JSON lines (or a document,
// if `path` is set), [ means a document, and anything else means CSV. JSON cells are numbers,
// strings, true (1), and false (0). null is an absent cell, nested objects become columns with
// dotted names, and lists are ignored.
class RowReader {
 public:
  // `path` is the dot-separated path of keys to a document's list of rows, or "" for the document
  // itself.
  RowReader(std::string name, char delimiter, std::string path, RowSink sink,
            const RowLimits& limits = {});
  // Not copyable, because its members point to each other.
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  // Reads the next bytes. Returns InvalidArgument if the header or document is invalid or no row is
  // valid, and ResourceExhausted if a limit is exceeded. After an error, the reader reads nothing
  // further.
  Status Feed(std::string_view bytes);
  Status Finish();
  // Skips the last row if it has no line break, because it may be incomplete. Call it before Finish
  // if the input is truncated. Returns InvalidArgument if the incomplete row is the header.
  Status SkipCutRow();

  // Returns the number of rows before the current one, including skipped rows.
  uint64_t rows_before() const { return output_.rows_before(); }
  const lenient::SkippedRecords& skipped() const { return output_.skipped(); }
  // Returns the column names in the input, at most RowLimits::columns.
  const std::set<std::string, std::less<>>& names() const { return names_.names(); }
  // Returns true if the header contains the column twice, which makes its cells ambiguous.
  bool Twice(std::string_view column) const { return names_.Twice(column); }

  // Returns true if the input contains the column, even if it has no cells: in a CSV header, or as
  // a JSON key with a null value.
  bool Names(std::string_view column) const { return names_.Names(column); }

 private:
  enum class Kind { kUnknown, kCsv, kJsonLines, kDocument };

  // Reads bytes in the format `kind_`.
  Status Take(std::string_view bytes);

  const bool has_path_;
  const size_t row_bytes_;
  Kind kind_ = Kind::kUnknown;
  bool past_mark_ = false;  // the byte order mark, if any, has been consumed
  std::string begun_;       // the bytes so far, until the format is known
  ColumnNames names_;
  RowOutput output_;
  CsvRows csv_;
  JsonLines lines_;
  JsonDocument document_;
};

}  // namespace pitwall::imports
