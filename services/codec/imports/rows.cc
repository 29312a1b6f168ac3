#include "services/codec/imports/rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "services/base/text/strings.h"
#include "services/codec/lenient/json_text.h"

namespace pitwall::imports {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 16;

// Appends the object's cells to *cells, which owns the bytes that the row points to, and the
// columns whose value is null to *nulls.
Status Flatten(const Json& object, const std::string& prefix, int depth,
               std::vector<std::pair<std::string, std::string>>* cells,
               std::set<std::string, std::less<>>* nulls, size_t max_nulls) {
  if (depth > kMaxDepth) return InvalidArgument("objects are nested too deeply");
  for (const auto& [key, value] : object.items()) {
    std::string column = prefix.empty() ? key : Cat(prefix, ".", key);
    if (value.is_object()) {
      RETURN_IF_ERROR(Flatten(value, column, depth + 1, cells, nulls, max_nulls));
    } else if (value.is_boolean()) {
      cells->emplace_back(std::move(column), value.get<bool>() ? "1" : "0");
    } else if (value.is_string()) {
      cells->emplace_back(std::move(column), value.get<std::string>());
    } else if (value.is_number()) {
      cells->emplace_back(std::move(column), value.dump());
    } else if (value.is_null() && nulls->size() < max_nulls) {
      nulls->insert(std::move(column));
    }
  }
  return OkStatus();
}

}  // namespace

RowReader::RowReader(std::string name, char delimiter, std::string path, RowSink sink,
                     const RowLimits& limits)
    : name_(std::move(name)),
      delimiter_(delimiter),
      path_(std::move(path)),
      sink_(std::move(sink)),
      limits_(limits) {}

Status RowReader::Error(std::string_view what) const {
  return InvalidArgument(Cat(name_, ":", line_, ":1: ", what));
}

Status RowReader::TooLong(size_t limit) const {
  return ResourceExhausted(
      Cat(name_, ":", line_, ":1: row or document is longer than ", limit, " bytes"));
}

void RowReader::Skip(uint32_t line, std::string_view cause) {
  skipped_.Skip(Cat(name_, ":", line, ":1: ", cause));
}

Status RowReader::Give(uint32_t line, const Row& row) {
  const Status given = Annotate(sink_(line, row), Cat(name_, ":", line, ":1"));
  if (given.ok()) skipped_.Use();
  return skipped_.SkipInvalid(given);
}

Status RowReader::Feed(std::string_view bytes) {
  if (kind_ != Kind::kUnknown) return Take(bytes);
  rest_.append(bytes);
  if (!past_mark_) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    // The mark may be incomplete.
    if (rest_.size() < kMark.size() && StartsWith(kMark, rest_)) return OkStatus();
    if (rest_ == "\xff" || rest_ == "\xfe") return OkStatus();
    past_mark_ = true;  // a second mark, in either encoding, is text
    if (StartsWith(rest_, "\xff\xfe") || StartsWith(rest_, "\xfe\xff"))
      return Error(
          "the file is UTF-16, as written by PowerShell; convert it with iconv -f UTF-16 -t UTF-8");
    if (StartsWith(rest_, kMark)) rest_.erase(0, kMark.size());
  }
  const size_t first = rest_.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    if (rest_.size() > limits_.row_bytes) return TooLong(limits_.row_bytes);
    return OkStatus();
  }
  const char c = rest_[first];
  kind_ = c == '[' || (c == '{' && !path_.empty()) ? Kind::kDocument
          : c == '{'                               ? Kind::kJsonLines
                                                   : Kind::kCsv;
  const std::string begun = std::move(rest_);
  rest_.clear();
  return Take(begun);
}

Status RowReader::Take(std::string_view bytes) {
  if (kind_ == Kind::kCsv) return TakeCsv(bytes);
  if (kind_ == Kind::kJsonLines) return TakeJsonLines(bytes);
  if (rest_.size() + bytes.size() > limits_.document_bytes) return TooLong(limits_.document_bytes);
  rest_.append(bytes);
  return OkStatus();
}

Status RowReader::Finish() {
  if (kind_ == Kind::kDocument) RETURN_IF_ERROR(Document());
  if (kind_ == Kind::kJsonLines && !skip_line_ && !rest_.empty()) RETURN_IF_ERROR(JsonLine(rest_));
  while (kind_ == Kind::kCsv && record_begun_) {
    const bool open = quoted_ && !quote_seen_;
    RETURN_IF_ERROR(open ? SkipCsvLine("a quoted cell is not closed") : EndOfRecord());
    RETURN_IF_ERROR(TakeCsv({}));
  }
  return skipped_.Finish(name_);
}

Status RowReader::SkipCutRow() {
  constexpr std::string_view kCause = "the input is truncated in this row";
  if (kind_ == Kind::kCsv && record_begun_) {
    if (header_.empty()) return InvalidArgument(Cat(name_, ":", record_line_, ":1: ", kCause));
    ++rows_;
    Skip(record_line_, kCause);
    NewRecord();
  } else if (kind_ == Kind::kJsonLines && !skip_line_ && !Trim(rest_).empty()) {
    ++rows_;
    Skip(line_, kCause);
    rest_.clear();
  }
  return OkStatus();
}

void RowReader::NewRecord() {
  cells_.clear();
  cell_.clear();
  record_.clear();
  quoted_ = was_quoted_ = quote_seen_ = record_begun_ = false;
}

Status RowReader::SkipCsvLine(std::string_view cause) {
  if (header_.empty()) return InvalidArgument(Cat(name_, ":", record_line_, ":1: ", cause));
  ++rows_;
  Skip(record_line_, cause);
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

Status RowReader::TakeCsv(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size() || !again_.empty();) {
    if (again_.empty()) RETURN_IF_ERROR(CsvByte(bytes[at++]));
    const std::string again = std::exchange(again_, {});
    for (size_t i = 0; i < again.size(); ++i) {
      RETURN_IF_ERROR(CsvByte(again[i]));
      if (again_.empty()) continue;
      again_.append(again, i + 1);
      break;
    }
  }
  return OkStatus();
}

Status RowReader::CsvByte(char c) {
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
    if (header_.empty()) return TooLong(limits_.row_bytes);
    return SkipCsvLine(Cat("row is longer than ", limits_.row_bytes, " bytes"));
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
    if (cells_.size() > limits_.columns) return TooLong(limits_.columns);
  } else if (c == '\n') {
    return EndOfRecord();
  } else if (c == '\r') {
    // Padding at the end of the line, and blanks after a quoted cell, are dropped.
  } else if (was_quoted_) {
    if (c != ' ') return SkipCsvLine("unexpected text after a quoted cell");
  } else {
    cell_ += c;
  }
  return OkStatus();
}

Status RowReader::Header() {
  header_ = std::move(cells_);
  for (std::string& column : header_) column = std::string(Trim(column));
  // A delimiter at the end of each line leaves empty column names, which are dropped.
  while (header_.size() > 1 && header_.back().empty()) header_.pop_back();
  std::unordered_set<std::string_view> seen;
  for (const std::string& column : header_) {
    if (!seen.insert(column).second) twice_.insert(column);
  }
  named_.insert(header_.begin(), header_.end());
  names_.insert(header_.begin(), header_.end());
  NewRecord();
  return OkStatus();
}

bool RowReader::RepeatsHeader() const {
  if (!named_.contains(Trim(cells_.front()))) return false;
  std::vector<std::string_view> names(header_.begin(), header_.end()), cells;
  for (const std::string& cell : cells_) cells.push_back(Trim(cell));
  std::sort(names.begin(), names.end());
  std::sort(cells.begin(), cells.end());
  return names == cells;
}

Status RowReader::EndOfRecord() {
  cells_.push_back(std::move(cell_));
  if (header_.empty()) return Header();
  while (cells_.size() > header_.size() && Trim(cells_.back()).empty()) cells_.pop_back();
  if (cells_.size() != header_.size())
    return SkipCsvLine(Cat(cells_.size(), " cells, but the header has ", header_.size()));
  if (RepeatsHeader()) return Header();
  ++rows_;
  Row row;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].empty()) row.emplace_back(header_[i], cells_[i]);
  }
  const Status given = Give(record_line_, row);
  NewRecord();
  return given;
}

Status RowReader::TakeJsonLines(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skip_line_ && rest_.size() + piece.size() > limits_.row_bytes) {
      ++rows_;
      Skip(line_, Cat("row is longer than ", limits_.row_bytes, " bytes"));
      skip_line_ = true;
      rest_.clear();
    }
    if (!skip_line_) rest_.append(piece);
    if (end == std::string_view::npos) return OkStatus();
    bytes.remove_prefix(end + 1);
    if (!skip_line_) RETURN_IF_ERROR(JsonLine(rest_));
    skip_line_ = false;
    rest_.clear();
    ++line_;
  }
  return OkStatus();
}

Status RowReader::JsonLine(std::string_view line) {
  if (Trim(line).empty()) return OkStatus();
  return JsonRow(line_, lenient::ParseJson<Json>(line));
}

Status RowReader::JsonRow(uint32_t line, const Json& object) {
  ++rows_;
  if (!object.is_object()) {
    Skip(line, "not a JSON object");
    return OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> cells;
  if (const Status flat = Flatten(object, "", 0, &cells, &named_, limits_.columns); !flat.ok()) {
    Skip(line, ToStd(flat.message()));
    return OkStatus();
  }
  for (const auto& [column, cell] : cells) {
    if (names_.size() < limits_.columns) names_.insert(column);
  }
  return Give(line, Row(cells.begin(), cells.end()));
}

Status RowReader::Document() {
  Json document = lenient::ParseJson<Json>(rest_);
  if (document.is_discarded()) {
    const std::string whole = lenient::CloseCutJson(rest_);
    if (!whole.empty()) document = lenient::ParseJson<Json>(whole);
    if (document.is_discarded()) return Error("not JSON");
    Skip(static_cast<uint32_t>(1 + std::count(rest_.begin(), rest_.end(), '\n')),
         "the document is truncated");
  }
  rest_.clear();
  const Json* list = &document;
  if (!path_.empty()) {
    for (const std::string_view key : Split(path_, '.')) {
      const auto found = list->is_object() ? list->find(std::string(key)) : list->end();
      if (!list->is_object() || found == list->end())
        return Error(Cat("rows: ", Quote(path_), ": key not found: ", Quote(key)));
      list = &*found;
    }
  }
  if (!list->is_array()) return Error(Cat("rows: ", Quote(path_), " is not a list"));
  uint32_t number = 0;  // in a document, rows are counted instead of lines
  for (const Json& object : *list) RETURN_IF_ERROR(JsonRow(++number, object));
  return OkStatus();
}

}  // namespace pitwall::imports
