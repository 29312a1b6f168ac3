#include "services/codec/imports/rows.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::imports {

RowReader::RowReader(std::string name, char delimiter, std::string path, RowSink sink,
                     const RowLimits& limits)
    : has_path_(!path.empty()),
      row_bytes_(limits.row_bytes),
      names_(limits.columns),
      output_(std::move(name), std::move(sink)),
      csv_(delimiter, limits, &names_, &output_),
      lines_(limits.row_bytes, &names_, &output_),
      document_(std::move(path), limits.document_bytes, &names_, &output_) {}

Status RowReader::Feed(std::string_view bytes) {
  if (kind_ != Kind::kUnknown) return Take(bytes);
  begun_.append(bytes);
  if (!past_mark_) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    // The byte order mark may be incomplete.
    if (begun_.size() < kMark.size() && StartsWith(kMark, begun_)) return OkStatus();
    if (begun_ == "\xff" || begun_ == "\xfe") return OkStatus();
    past_mark_ = true;  // a second mark, in either encoding, is text
    if (StartsWith(begun_, "\xff\xfe") || StartsWith(begun_, "\xfe\xff"))
      return output_.Error(
          1,
          "the file is UTF-16, as written by PowerShell; convert it with iconv -f UTF-16 -t UTF-8");
    if (StartsWith(begun_, kMark)) begun_.erase(0, kMark.size());
  }
  const size_t first = begun_.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    if (begun_.size() > row_bytes_) return output_.TooLong(1, row_bytes_);
    return OkStatus();
  }
  const char c = begun_[first];
  kind_ = c == '[' || (c == '{' && has_path_) ? Kind::kDocument
          : c == '{'                          ? Kind::kJsonLines
                                              : Kind::kCsv;
  const std::string begun = std::exchange(begun_, {});
  return Take(begun);
}

Status RowReader::Take(std::string_view bytes) {
  if (kind_ == Kind::kCsv) return csv_.Feed(bytes);
  if (kind_ == Kind::kJsonLines) return lines_.Feed(bytes);
  return document_.Feed(bytes);
}

Status RowReader::Finish() {
  if (kind_ == Kind::kDocument) RETURN_IF_ERROR(document_.Finish());
  if (kind_ == Kind::kJsonLines) RETURN_IF_ERROR(lines_.Finish());
  if (kind_ == Kind::kCsv) RETURN_IF_ERROR(csv_.Finish());
  return output_.Finish();
}

Status RowReader::SkipCutRow() {
  constexpr std::string_view kCause = "the input is truncated in this row";
  if (kind_ == Kind::kCsv) return csv_.SkipCutRow(kCause);
  if (kind_ == Kind::kJsonLines) lines_.SkipCutRow(kCause);
  return OkStatus();
}

}  // namespace pitwall::imports
