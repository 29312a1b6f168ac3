// Parsers for rows in JSON lines or in a JSON document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/imports/column_names.h"
#include "services/codec/imports/row_output.h"

namespace pitwall::imports {

// Parser for input with one JSON object per line. The pointers are borrowed. Not thread-safe.
class JsonLines {
 public:
  // Skips rows with more than `row_bytes` bytes.
  JsonLines(size_t row_bytes, ColumnNames* names, RowOutput* output);

  Status Feed(std::string_view bytes);
  // Reads the last row if it has no line break.
  Status Finish();
  // Skips the last row if it has no line break.
  void SkipCutRow(std::string_view cause);

 private:
  // Reads the row in rest_.
  Status TakeLine();

  const size_t row_bytes_;
  ColumnNames* const names_;
  RowOutput* const output_;
  uint32_t line_ = 1;
  bool skip_line_ = false;  // the rest of the line belongs to a skipped row
  std::string rest_;        // the incomplete line
};

// Parser for a document with a list of rows. The pointers are borrowed. Not thread-safe.
class JsonDocument {
 public:
  // `path` is the dot-separated path of keys to the list of rows, or "" for the document itself.
  JsonDocument(std::string path, size_t document_bytes, ColumnNames* names, RowOutput* output);

  // Reads the next bytes. Returns ResourceExhausted if the document is too long.
  Status Feed(std::string_view bytes);
  // Reads the rows. Returns InvalidArgument if the document is invalid. If it is truncated, reads
  // its complete rows.
  Status Finish();

 private:
  const std::string path_;
  const size_t document_bytes_;
  ColumnNames* const names_;
  RowOutput* const output_;
  std::string text_;  // the document so far
};

}  // namespace pitwall::imports
