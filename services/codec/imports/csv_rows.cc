#include "services/codec/imports/csv_rows.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::imports {

CsvRows::CsvRows(char delimiter, const RowLimits& limits, ColumnNames* names, RowOutput* output)
    : delimiter_(delimiter), limits_(limits), names_(names), output_(output) {}

Status CsvRows::Feed(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size() || !again_.empty();) {
    if (again_.empty()) RETURN_IF_ERROR(TakeByte(bytes[at++]));
    const std::string again = std::exchange(again_, {});
    for (size_t i = 0; i < again.size(); ++i) {
      RETURN_IF_ERROR(TakeByte(again[i]));
      if (again_.empty()) continue;
      again_.append(again, i + 1);
      break;
    }
  }
  return OkStatus();
}

Status CsvRows::Finish() {
  while (record_begun_) {
    const bool open = quoted_ && !quote_seen_;
    RETURN_IF_ERROR(open ? SkipLine("a quoted cell is not closed") : EndRecord());
    RETURN_IF_ERROR(Feed({}));
  }
  return OkStatus();
}

Status CsvRows::SkipCutRow(std::string_view cause) {
  if (!record_begun_) return OkStatus();
  if (header_.empty()) return output_->Error(record_line_, cause);
  output_->BeginRow();
  output_->Skip(record_line_, cause);
  NewRecord();
  return OkStatus();
}

void CsvRows::NewRecord() {
  cells_.clear();
  cell_.clear();
  record_.clear();
  quoted_ = was_quoted_ = quote_seen_ = record_begun_ = false;
}

Status CsvRows::SkipLine(std::string_view cause) {
  if (header_.empty()) return output_->Error(record_line_, cause);
  output_->BeginRow();
  output_->Skip(record_line_, cause);
  // A stray quote may have absorbed the following lines into its cell.
  const size_t end = record_.find('\n');
  skip_line_ = end == std::string::npos;
  if (!skip_line_) {
    again_ = record_.substr(end + 1);
    line_ = record_line_ + 1;
  }
  NewRecord();
  return OkStatus();
}

Status CsvRows::TakeByte(char c) {
  if (skip_line_) {
    skip_line_ = c != '\n';
    line_ += c == '\n';
    return OkStatus();
  }
  if (!record_begun_) {
    if (c == '\n' || c == '\r') {  // an empty line
      line_ += c == '\n';
      return OkStatus();
    }
    record_begun_ = true;
    record_line_ = line_;
  }
  record_ += c;
  if (c == '\n') ++line_;
  if (record_.size() > limits_.row_bytes) {
    if (header_.empty()) return output_->TooLong(line_, limits_.row_bytes);
    return SkipLine(Cat("row is longer than ", limits_.row_bytes, " bytes"));
  }
  if (quoted_) {
    if (!quote_seen_) {
      quote_seen_ = c == '"';
      if (!quote_seen_) cell_ += c;
      return OkStatus();
    }
    quote_seen_ = false;
    if (c == '"') {
      cell_ += '"';
      return OkStatus();
    }
    quoted_ = false;  // the previous quote closed the cell
  }
  if (c == '"' && cell_.empty() && !was_quoted_) {
    quoted_ = was_quoted_ = true;
  } else if (c == delimiter_) {
    cells_.push_back(std::move(cell_));
    cell_.clear();
    was_quoted_ = false;
    if (cells_.size() > limits_.columns) return output_->TooLong(line_, limits_.columns);
  } else if (c == '\n') {
    return EndRecord();
  } else if (c == '\r') {
    // Padding at the end of the line, and blanks after a quoted cell, are dropped.
  } else if (was_quoted_) {
    if (c != ' ') return SkipLine("unexpected text after a quoted cell");
  } else {
    cell_ += c;
  }
  return OkStatus();
}

Status CsvRows::TakeHeader() {
  header_ = std::move(cells_);
  for (std::string& column : header_) column = std::string(Trim(column));
  // Trailing delimiters result in empty column names, which are dropped.
  while (header_.size() > 1 && header_.back().empty()) header_.pop_back();
  names_->AddHeader(header_);
  NewRecord();
  return OkStatus();
}

bool CsvRows::RepeatsHeader() const {
  if (!names_->Names(Trim(cells_.front()))) return false;
  std::vector<std::string_view> names(header_.begin(), header_.end()), cells;
  for (const std::string& cell : cells_) cells.push_back(Trim(cell));
  std::sort(names.begin(), names.end());
  std::sort(cells.begin(), cells.end());
  return names == cells;
}

Status CsvRows::EndRecord() {
  cells_.push_back(std::move(cell_));
  if (header_.empty()) return TakeHeader();
  while (cells_.size() > header_.size() && Trim(cells_.back()).empty()) cells_.pop_back();
  if (cells_.size() != header_.size())
    return SkipLine(Cat(cells_.size(), " cells, but the header has ", header_.size()));
  if (RepeatsHeader()) return TakeHeader();
  output_->BeginRow();
  Row row;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].empty()) row.emplace_back(header_[i], cells_[i]);
  }
  const Status given = output_->Give(record_line_, row);
  NewRecord();
  return given;
}

}  // namespace pitwall::imports
