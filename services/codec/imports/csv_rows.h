// Parser for CSV rows (RFC 4180, with a header).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/codec/imports/column_names.h"
#include "services/codec/imports/row_output.h"

namespace pitwall::imports {

// Parser for one input without a byte order mark. The pointers are borrowed. Not thread-safe.
// rows.h defines which rows are skipped.
class CsvRows {
 public:
  CsvRows(char delimiter, const RowLimits& limits, ColumnNames* names, RowOutput* output);

  // Reads the next bytes. Returns InvalidArgument if the header is invalid, and ResourceExhausted
  // if the header exceeds a limit or a row has too many columns.
  Status Feed(std::string_view bytes);
  // Reads the last row if it has no line break.
  Status Finish();
  // Skips the last row if it has no line break. Returns InvalidArgument if that row is the header.
  Status SkipCutRow(std::string_view cause);

 private:
  Status TakeByte(char c);
  // Skips the first line of the current malformed record and rereads its other lines.
  Status SkipLine(std::string_view cause);
  Status TakeHeader();
  bool RepeatsHeader() const;
  void NewRecord();
  Status EndRecord();

  const char delimiter_;
  const RowLimits limits_;
  ColumnNames* const names_;
  RowOutput* const output_;
  uint32_t line_ = 1;
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
};

}  // namespace pitwall::imports
