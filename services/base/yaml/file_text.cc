#include "services/base/yaml/file_text.h"

#include <algorithm>

namespace pitwall::yaml {

FileText::FileText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

Position FileText::Locate(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const size_t line = static_cast<size_t>(after - line_starts_.begin());
  Position position{static_cast<int>(line), 1};
  for (size_t i = line_starts_[line - 1]; i < offset; ++i) {
    // Counts characters: every byte except UTF-8 continuation bytes.
    if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) ++position.column;
  }
  return position;
}

std::string_view FileText::Line(int line) const {
  if (line < 1 || static_cast<size_t>(line) > line_starts_.size()) return {};
  const size_t begin = line_starts_[static_cast<size_t>(line) - 1];
  size_t end = std::min(text_.find('\n', begin), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

size_t FileText::LineStart(int line) const {
  if (line < 1) return 0;
  if (static_cast<size_t>(line) > line_starts_.size()) return text_.size();
  return line_starts_[static_cast<size_t>(line) - 1];
}

size_t FindInvalidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    size_t length = 0;
    uint32_t code = 0;
    uint32_t least = 0;
    if ((lead & 0xe0) == 0xc0) {
      length = 2, code = lead & 0x1f, least = 0x80;
    } else if ((lead & 0xf0) == 0xe0) {
      length = 3, code = lead & 0x0f, least = 0x800;
    } else if ((lead & 0xf8) == 0xf0) {
      length = 4, code = lead & 0x07, least = 0x10000;
    } else {
      return i;
    }
    if (i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return i;
      code = (code << 6) | (next & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return i;
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace pitwall::yaml
