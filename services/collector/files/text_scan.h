// In-place scanner for numbers and words in files under /proc and /sys.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pitwall::collector {

// Scans the input. The returned views refer to the input.
class TextScan {
 public:
  explicit TextScan(std::string_view text) : rest_(text) {}

  // Reads the next line without its line terminator. Returns false after the last line.
  bool Line(std::string_view* line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    *line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return true;
  }
  // Returns the next word delimited by blanks, or "" at the end.
  std::string_view Word() {
    const size_t begin = rest_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      rest_ = {};
      return {};
    }
    rest_.remove_prefix(begin);
    const size_t end = rest_.find_first_of(" \t\n");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(word.size());
    return word;
  }
  // Returns the next word as a number, or nullopt if it is malformed.
  std::optional<uint64_t> Number() { return ToNumber(Word()); }
  // Reads one number per element. Returns false at the first word that is not a number.
  bool Numbers(std::span<uint64_t> numbers) {
    for (uint64_t& number : numbers) {
      const std::optional<uint64_t> next = Number();
      if (!next.has_value()) return false;
      number = *next;
    }
    return true;
  }
  std::string_view rest() const { return rest_; }

  static std::optional<uint64_t> ToNumber(std::string_view word) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (word.empty() || error != std::errc() || end != word.data() + word.size())
      return std::nullopt;
    return number;
  }

 private:
  std::string_view rest_;
};

}  // namespace pitwall::collector
