#include "services/codec/imports/rows.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "services/base/strings.h"

namespace pitwall::imports {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 16;

// `cells` owns what the row points into; `nulls` has the columns whose value is null.
Status Flatten(const Json& object, const std::string& prefix, int depth,
               std::vector<std::pair<std::string, std::string>>* cells,
               std::set<std::string, std::less<>>* nulls, size_t max_nulls) {
  if (depth > kMaxDepth) return InvalidArgument("objects are nested too deep");
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

// Python's json writes NaN and Infinity, which JSON has not: as texts they are read as numbers.
std::string WithoutBareWords(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (!StartsWith(text.substr(i), word)) continue;
      CatTo(out, "\"", word == "NaN" ? "NaN" : word == "Infinity" ? "+Inf" : "-Inf", "\"");
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
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
  return ResourceExhausted(Cat(name_, ":", line_, ":1: more than ", limit, " bytes at once"));
}

Status RowReader::Give(uint32_t line, const Row& row) {
  return Annotate(sink_(line, row), Cat(name_, ":", line, ":1"));
}

Status RowReader::Feed(std::string_view bytes) {
  if (kind_ != Kind::kUnknown) return Take(bytes);
  rest_.append(bytes);
  if (!past_mark_) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (rest_.size() < kMark.size() && StartsWith(kMark, rest_)) return OkStatus();  // may be cut
    if (StartsWith(rest_, kMark)) rest_.erase(0, kMark.size());
    past_mark_ = true;  // a second one is text
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
  if (kind_ == Kind::kDocument) return Document();
  if (kind_ == Kind::kJsonLines) return rest_.empty() ? OkStatus() : JsonLine(rest_);
  if (kind_ == Kind::kCsv && quoted_ && !quote_seen_) {
    line_ = record_line_;
    return Error("a quoted cell has no end: the file is cut short");
  }
  return record_begun_ ? EndOfRecord() : OkStatus();
}

Status RowReader::TakeCsv(std::string_view bytes) {
  for (const char c : bytes) {
    if (!record_begun_) {
      if (c == '\n' || c == '\r') {  // an empty line
        line_ += c == '\n';
        continue;
      }
      record_begun_ = true;
      record_line_ = line_;
      record_bytes_ = 0;
    }
    if (++record_bytes_ > limits_.row_bytes) return TooLong(limits_.row_bytes);
    if (c == '\n') ++line_;
    if (quoted_) {
      if (quote_seen_) {
        quote_seen_ = false;
        if (c == '"') {
          cell_ += '"';
          continue;
        }
        quoted_ = false;  // the quote was the end
      } else if (c == '"') {
        quote_seen_ = true;
        continue;
      } else {
        cell_ += c;
        continue;
      }
    }
    if (c == '"' && cell_.empty() && !was_quoted_) {
      quoted_ = was_quoted_ = true;
    } else if (c == delimiter_) {
      cells_.push_back(std::move(cell_));
      cell_.clear();
      was_quoted_ = false;
      if (cells_.size() > limits_.columns) return TooLong(limits_.columns);
    } else if (c == '\n') {
      RETURN_IF_ERROR(EndOfRecord());
    } else if (c == '\r') {
      // Of the line's end; blanks behind a quoted cell go the same way.
    } else if (was_quoted_) {
      if (c != ' ') return Error("something follows a quoted cell");
    } else {
      cell_ += c;
    }
  }
  return OkStatus();
}

Status RowReader::EndOfRecord() {
  cells_.push_back(std::move(cell_));
  cell_.clear();
  quoted_ = was_quoted_ = quote_seen_ = record_begun_ = false;
  if (header_.empty()) {
    header_ = std::move(cells_);
    cells_.clear();
    std::unordered_set<std::string_view> seen;
    for (const std::string& column : header_) {
      if (!seen.insert(column).second)
        return InvalidArgument(
            Cat(name_, ":", record_line_, ":1: column ", Quote(column), " appears twice"));
    }
    named_.insert(header_.begin(), header_.end());
    return OkStatus();
  }
  if (cells_.size() != header_.size()) {
    return InvalidArgument(Cat(name_, ":", record_line_, ":1: ", cells_.size(),
                               " cells, but the header has ", header_.size()));
  }
  Row row;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].empty()) row.emplace_back(header_[i], cells_[i]);
  }
  Status given = Give(record_line_, row);
  cells_.clear();
  return given;
}

Status RowReader::TakeJsonLines(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > limits_.row_bytes) return TooLong(limits_.row_bytes);
    rest_.append(piece);
    if (end == std::string_view::npos) return OkStatus();
    bytes.remove_prefix(end + 1);
    RETURN_IF_ERROR(JsonLine(rest_));
    rest_.clear();
    ++line_;
  }
  return OkStatus();
}

Status RowReader::JsonLine(std::string_view line) {
  if (Trim(line).empty()) return OkStatus();
  const std::string text = WithoutBareWords(line);
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded() || !object.is_object()) return Error("not a JSON object");
  std::vector<std::pair<std::string, std::string>> cells;
  if (const Status flat = Flatten(object, "", 0, &cells, &named_, limits_.columns); !flat.ok())
    return Error(ToStd(flat.message()));
  return Give(line_, Row(cells.begin(), cells.end()));
}

Status RowReader::Document() {
  const std::string text = WithoutBareWords(rest_);
  rest_.clear();
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Error("not JSON");
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
  uint32_t number = 0;
  for (const Json& object : *list) {
    line_ = ++number;  // of a document, rows are counted
    if (!object.is_object()) return Error("a row is not a JSON object");
    std::vector<std::pair<std::string, std::string>> cells;
    if (const Status flat = Flatten(object, "", 0, &cells, &named_, limits_.columns); !flat.ok())
      return Error(ToStd(flat.message()));
    RETURN_IF_ERROR(Give(number, Row(cells.begin(), cells.end())));
  }
  return OkStatus();
}

}  // namespace pitwall::imports
