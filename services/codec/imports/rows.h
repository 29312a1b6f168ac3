// Rows of a training log: CSV (RFC 4180, with a header), JSON lines, or a JSON document.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"

namespace pitwall::imports {

// Column -> cell. Valid during the call.
using Row = std::vector<std::pair<std::string_view, std::string_view>>;
// An error stops the reader, which puts file and line before it.
using RowSink = std::function<Status(uint32_t line, const Row& row)>;

struct RowLimits {
  size_t row_bytes = size_t{1} << 20;        // of CSV and JSON lines
  size_t document_bytes = size_t{64} << 20;  // of a JSON document, which is read as a whole
  size_t columns = 65'536;
};

// What it is the first character says that is no blank: { begins JSON lines (with `path`: a
// document), [ a document, anything else CSV. Of JSON, cells are numbers, texts, true (1) and false
// (0); null is an absent cell; nested objects are columns with dots, lists are left out.
class RowReader {
 public:
  // `path`: keys with dots to the list of rows in a document; "" for the document itself.
  RowReader(std::string name, char delimiter, std::string path, RowSink sink,
            const RowLimits& limits = {});

  // InvalidArgument: the text is wrong; ResourceExhausted: a limit. After an error nothing more is
  // read.
  Status Feed(std::string_view bytes);
  Status Finish();

  // Of a column without a cell: whether the text names it all the same, in a CSV's header or as a
  // JSON key whose value is null.
  bool Names(std::string_view column) const { return named_.contains(column); }

 private:
  enum class Kind { kUnknown, kCsv, kJsonLines, kDocument };

  Status Take(std::string_view bytes);
  Status TakeCsv(std::string_view bytes);
  Status TakeJsonLines(std::string_view bytes);
  Status EndOfRecord();
  Status JsonLine(std::string_view line);
  Status Document();
  Status Give(uint32_t line, const Row& row);
  Status Error(std::string_view what) const;
  Status TooLong(size_t limit) const;

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
  uint32_t record_line_ = 1;
  size_t record_bytes_ = 0;

  // Columns that were named with an empty cell, at most RowLimits::columns.
  std::set<std::string, std::less<>> named_;
  std::string rest_;  // JSON: of a line, or the document so far
};

}  // namespace pitwall::imports
