// Output of a row reader. Passes rows to a sink and counts the rows that the reader skips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

// (column, cell) pairs. Valid only during the call.
using Row = std::vector<std::pair<std::string_view, std::string_view>>;
// Receives a row. InvalidArgument skips the row, and any other error stops the reader. The reader
// prefixes both kinds of errors with file and line.
using RowSink = std::function<Status(uint32_t line, const Row& row)>;

struct RowLimits {
  size_t row_bytes = size_t{1} << 20;        // for CSV and JSON lines
  size_t document_bytes = size_t{64} << 20;  // for a JSON document, which is read as a whole
  size_t columns = 65'536;
};

// Output of one reader. Not thread-safe.
class RowOutput {
 public:
  // `name` identifies the input in errors.
  RowOutput(std::string name, RowSink sink) : name_(std::move(name)), sink_(std::move(sink)) {}

  // Counts a row. The caller must then call Give or Skip.
  void BeginRow() { ++rows_; }
  Status Give(uint32_t line, const Row& row);
  void Skip(uint32_t line, std::string_view cause);
  // Logs the skipped rows. Returns InvalidArgument if no row is valid.
  Status Finish() const { return skipped_.Finish(name_); }

  // Returns InvalidArgument with the location.
  Status Error(uint32_t line, std::string_view what) const;
  // Returns ResourceExhausted with the location.
  Status TooLong(uint32_t line, size_t limit) const;

  // Returns the number of rows before the current one, including skipped rows.
  uint64_t rows_before() const { return rows_ == 0 ? 0 : rows_ - 1; }
  const lenient::SkippedRecords& skipped() const { return skipped_; }

 private:
  const std::string name_;
  const RowSink sink_;
  uint64_t rows_ = 0;
  lenient::SkippedRecords skipped_{"row"};
};

}  // namespace pitwall::imports
