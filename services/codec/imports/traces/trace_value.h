// Scanner that finds the end of a JSON value in a Chrome trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace pitwall::imports {

// Scanner for consecutive values. Checks only the brackets. Not thread-safe.
class TraceValue {
 public:
  enum class Progress {
    kReading,
    kEnded,        // the value ended with the byte
    kEndedBefore,  // the value ended before the byte, which does not belong to it
    kInvalid,      // see error()
  };

  // Keeps at most `max_bytes` of the text.
  explicit TraceValue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Starts a value with its first byte. Discards the text if `keep` is false.
  void Begin(char c, uint32_t line, bool keep);
  // Reads the next byte of the value.
  Progress Take(char c) {
    const Progress progress = TakeByte(c);
    reading_ = progress == Progress::kReading;
    return progress;
  }
  // Returns true between Begin and the end of the value.
  bool reading() const { return reading_; }
  // Ends an incomplete value.
  void Drop() { reading_ = false; }

  // Returns the text, which is incomplete if too_long() returns true.
  const std::string& text() const { return text_; }
  bool kept() const { return keep_; }
  bool too_long() const { return too_long_; }
  // Returns the line on which the value starts.
  uint32_t line() const { return line_; }
  // Returns the cause of kInvalid.
  const std::string& error() const { return error_; }

 private:
  Progress TakeByte(char c);
  Progress Fail(std::string error) {
    error_ = std::move(error);
    return Progress::kInvalid;
  }

  const size_t max_bytes_;
  bool reading_ = false;
  bool keep_ = true;
  bool in_string_ = false;
  bool escaped_ = false;
  bool scalar_ = false;
  bool too_long_ = false;
  std::string brackets_;  // open brackets
  uint32_t line_ = 1;
  std::string text_;
  std::string error_;
};

}  // namespace pitwall::imports
