// Text of one expression with its position in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/yaml/file_text.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::lang {

using yaml::Position;

// Bytes [begin, end) of a Source.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(Span, Span) = default;
};

// Immutable. Copies share the file's text.
class Source {
 public:
  Source() = default;
  // Creates a source from a whole file or command-line argument called `name`.
  Source(std::string name, std::string text);
  // Creates a source from a scalar in a YAML file. Offsets are mapped back through quotes, folding,
  // and indentation.
  static Source FromScalar(const yaml::Node& scalar);

  const std::string& text() const { return text_; }
  std::string_view Text(Span span) const;
  const yaml::FileTextPtr& file() const { return file_; }
  Position Locate(uint32_t offset) const;
  // Returns the number of carets to draw: the number of characters that `span` covers on its first
  // line, but at least 1.
  int CaretLength(Span span) const;

 private:
  uint32_t FileOffset(uint32_t offset) const;

  yaml::FileTextPtr file_;
  std::string text_;
  std::vector<uint32_t> offsets_;  // offsets into the file; empty if the text is the whole file
};

}  // namespace pitwall::lang
