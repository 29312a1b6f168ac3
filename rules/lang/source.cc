#include "rules/lang/source.h"

#include <algorithm>

namespace pitwall::lang {

Source::Source(std::string name, std::string text)
    : file_(std::make_shared<const yaml::FileText>(std::move(name), text)),
      text_(std::move(text)) {}

Source Source::FromScalar(const yaml::Node& scalar) {
  Source source;
  source.file_ = scalar.file();
  source.text_ = scalar.scalar();
  source.offsets_ = scalar.ScalarOffsets();
  return source;
}

std::string_view Source::Text(Span span) const {
  const size_t begin = std::min<size_t>(span.begin, text_.size());
  const size_t end = std::clamp<size_t>(span.end, begin, text_.size());
  return std::string_view(text_).substr(begin, end - begin);
}

uint32_t Source::FileOffset(uint32_t offset) const {
  if (offsets_.empty()) return std::min(offset, static_cast<uint32_t>(text_.size()));
  return offsets_[std::min<size_t>(offset, offsets_.size() - 1)];
}

Position Source::Locate(uint32_t offset) const {
  return file_ == nullptr ? Position{} : file_->Locate(FileOffset(offset));
}

int Source::CaretLength(Span span) const {
  if (file_ == nullptr || span.end <= span.begin || span.begin >= text_.size()) return 1;
  const Position begin = Locate(span.begin);
  uint32_t last_byte = std::min(span.end, static_cast<uint32_t>(text_.size())) - 1;
  while (last_byte > span.begin && (static_cast<unsigned char>(text_[last_byte]) & 0xc0) == 0x80)
    --last_byte;
  const Position last = Locate(last_byte);
  if (last.line == begin.line) return std::max(1, last.column - begin.column + 1);
  const size_t line_end = file_->LineStart(begin.line) + file_->Line(begin.line).size();
  return std::max(1, file_->Locate(line_end).column - begin.column);
}

}  // namespace pitwall::lang
