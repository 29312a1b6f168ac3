// Text of one file with its line starts. Converts byte offsets to lines and columns for messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall::yaml {

// Position for messages: line and column start at 1, and columns count characters (not bytes).
struct Position {
  int line = 1;
  int column = 1;
  friend bool operator==(const Position&, const Position&) = default;
};

// Immutable and thread-safe. Shared by all nodes and sources of the file.
class FileText {
 public:
  FileText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  Position Locate(size_t offset) const;
  // Returns the line without its line break, or "" if it does not exist. `line` starts at 1.
  std::string_view Line(int line) const;
  // Returns the offset of the first byte of a line.
  size_t LineStart(int line) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

using FileTextPtr = std::shared_ptr<const FileText>;

// Returns the offset of the first byte that is not valid UTF-8, or npos.
size_t FindInvalidUtf8(std::string_view text);

}  // namespace pitwall::yaml
