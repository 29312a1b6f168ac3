#include "services/codec/imports/json_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/lenient/json_text.h"

namespace pitwall::imports {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 16;

// Appends the object's cells to *cells, which owns the bytes that the row points to. Adds the
// columns whose value is null to *names.
Status Flatten(const Json& object, const std::string& prefix, int depth,
               std::vector<std::pair<std::string, std::string>>* cells, ColumnNames* names) {
  if (depth > kMaxDepth) return InvalidArgument("objects are nested too deeply");
  for (const auto& [key, value] : object.items()) {
    std::string column = prefix.empty() ? key : Cat(prefix, ".", key);
    if (value.is_object()) {
      RETURN_IF_ERROR(Flatten(value, column, depth + 1, cells, names));
    } else if (value.is_boolean()) {
      cells->emplace_back(std::move(column), value.get<bool>() ? "1" : "0");
    } else if (value.is_string()) {
      cells->emplace_back(std::move(column), value.get<std::string>());
    } else if (value.is_number()) {
      cells->emplace_back(std::move(column), value.dump());
    } else if (value.is_null()) {
      names->AddEmpty(std::move(column));
    }
  }
  return OkStatus();
}

// Reads the JSON object of a row.
Status TakeObject(uint32_t line, const Json& object, ColumnNames* names, RowOutput* output) {
  output->BeginRow();
  if (!object.is_object()) {
    output->Skip(line, "not a JSON object");
    return OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> cells;
  if (const Status flat = Flatten(object, "", 0, &cells, names); !flat.ok()) {
    output->Skip(line, ToStd(flat.message()));
    return OkStatus();
  }
  for (const auto& [column, cell] : cells) names->Add(column);
  return output->Give(line, Row(cells.begin(), cells.end()));
}

}  // namespace

JsonLines::JsonLines(size_t row_bytes, ColumnNames* names, RowOutput* output)
    : row_bytes_(row_bytes), names_(names), output_(output) {}

Status JsonLines::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skip_line_ && rest_.size() + piece.size() > row_bytes_) {
      output_->BeginRow();
      output_->Skip(line_, Cat("row is longer than ", row_bytes_, " bytes"));
      skip_line_ = true;
      rest_.clear();
    }
    if (!skip_line_) rest_.append(piece);
    if (end == std::string_view::npos) return OkStatus();
    bytes.remove_prefix(end + 1);
    if (!skip_line_) RETURN_IF_ERROR(TakeLine());
    skip_line_ = false;
    rest_.clear();
    ++line_;
  }
  return OkStatus();
}

Status JsonLines::Finish() { return skip_line_ || rest_.empty() ? OkStatus() : TakeLine(); }

void JsonLines::SkipCutRow(std::string_view cause) {
  if (skip_line_ || Trim(rest_).empty()) return;
  output_->BeginRow();
  output_->Skip(line_, cause);
  rest_.clear();
}

Status JsonLines::TakeLine() {
  if (Trim(rest_).empty()) return OkStatus();
  return TakeObject(line_, lenient::ParseJson<Json>(rest_), names_, output_);
}

JsonDocument::JsonDocument(std::string path, size_t document_bytes, ColumnNames* names,
                           RowOutput* output)
    : path_(std::move(path)), document_bytes_(document_bytes), names_(names), output_(output) {}

Status JsonDocument::Feed(std::string_view bytes) {
  if (text_.size() + bytes.size() > document_bytes_) return output_->TooLong(1, document_bytes_);
  text_.append(bytes);
  return OkStatus();
}

Status JsonDocument::Finish() {
  Json document = lenient::ParseJson<Json>(text_);
  if (document.is_discarded()) {
    const std::string whole = lenient::CloseCutJson(text_);
    if (!whole.empty()) document = lenient::ParseJson<Json>(whole);
    if (document.is_discarded()) return output_->Error(1, "not JSON");
    output_->Skip(static_cast<uint32_t>(1 + std::count(text_.begin(), text_.end(), '\n')),
                  "the document is truncated");
  }
  text_.clear();
  const Json* list = &document;
  if (!path_.empty()) {
    for (const std::string_view key : Split(path_, '.')) {
      const auto found = list->is_object() ? list->find(std::string(key)) : list->end();
      if (!list->is_object() || found == list->end())
        return output_->Error(1, Cat("rows: ", Quote(path_), ": key not found: ", Quote(key)));
      list = &*found;
    }
  }
  if (!list->is_array()) return output_->Error(1, Cat("rows: ", Quote(path_), " is not a list"));
  uint32_t number = 0;  // in a document, rows are counted instead of lines
  for (const Json& object : *list) RETURN_IF_ERROR(TakeObject(++number, object, names_, output_));
  return OkStatus();
}

}  // namespace pitwall::imports
