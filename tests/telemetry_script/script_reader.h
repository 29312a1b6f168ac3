// Lexical level of a telemetry script: words, numbers, durations, ranges, and labels, with the
// place of each error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::telemetry_script {

// Inclusive range. A single value is a range with equal ends.
struct IntegerRange {
  int64_t first = 0;
  int64_t last = 0;
};

// Reads a script from left to right. Blanks separate words; a line break or ';' ends a statement;
// '#' starts a comment up to the end of the line. Each error is InvalidArgument and names the place
// of the text that was read last.
class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}

  // Moves to the next statement. Returns false at the end of the script.
  bool NextStatement();
  bool AtEndOfStatement();
  // Skips blanks. Returns whether the time of the statement is next.
  bool AtTime();
  // Returns whether labels directly follow the text that was read last.
  bool AtLabels() const { return at_ < text_.size() && text_[at_] == '{'; }
  // Skips blanks. Reads the character if it is next.
  bool Take(char character);
  // Reads a character that directly follows the text that was read last.
  bool TakeDirectly(char character);
  Status Expect(char character);
  // Reads a word up to a blank, the end of the statement, or one of the characters in `stops`.
  // Returns an error that names `what` if it is empty.
  StatusOr<std::string> Word(std::string_view what, std::string_view stops = "");
  // Reads a quoted text with \" and \\ as escapes, or a word.
  StatusOr<std::string> Text(std::string_view what, std::string_view stops = "");
  StatusOr<int64_t> Integer(std::string_view what);
  StatusOr<double> Number(std::string_view what);
  StatusOr<IntegerRange> Integers(std::string_view what);
  // Reads a duration such as 500ms, 1.5s, -2m, or 1h, in nanoseconds.
  StatusOr<int64_t> Time(std::string_view what);
  StatusOr<IntegerRange> Times(std::string_view what);
  // Parses a duration in a word that was read.
  StatusOr<int64_t> ParseTime(std::string_view word, std::string_view what) const;
  // Reads {name="value",…}.
  StatusOr<Labels> LabelSet();

  // Returns an error at the start of the text that was read last.
  Status Error(std::string_view cause) const { return ErrorAt(read_at_, cause); }

 private:
  void SkipBlanks();
  Status ErrorAt(size_t at, std::string_view cause) const;
  StatusOr<int64_t> ParseWhole(std::string_view word, std::string_view what) const;

  const std::string_view text_;
  size_t at_ = 0;
  size_t read_at_ = 0;  // start of the text that was read last
};

}  // namespace pitwall::telemetry_script
