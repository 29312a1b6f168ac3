// JSON writer that emits output in call order. The output is deterministic and contains no
// whitespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pitwall::codec {

// Calls must nest correctly. Inside an object, each value requires a preceding Key call. Not
// thread-safe.
class JsonWriter {
 public:
  // Estimated size of a number with all its digits and a comma, for callers that reserve memory.
  static constexpr size_t kNumberBytes = 20;

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(std::string_view name);
  // Appends a string. Bytes that are not UTF-8 become U+FFFD.
  void String(std::string_view value);
  void Uint(uint64_t value);
  void Int(int64_t value);
  void Bool(bool value);
  void Null();
  // Appends a value that is already encoded as JSON.
  void Raw(std::string_view json);
  // Appends the shortest representation that parses to the same double, or the string "NaN",
  // "+Inf", or "-Inf".
  void Double(double value);
  // Appends an array of numbers, with null for NaN and infinities. The output is identical to
  // calling Double or Null for each element.
  void Numbers(std::span<const double> values);

  // Appends a key and its value, or nothing if the value is empty.
  void Text(std::string_view key, std::string_view value);

  // Reserves memory for about `bytes` additional bytes to avoid reallocations.
  void Reserve(size_t bytes) { out_.reserve(out_.size() + bytes); }
  std::string Take() { return std::move(out_); }

 private:
  void Begin(char c);
  void End(char c);
  void Separate();
  void Quoted(std::string_view value);

  std::string out_;
  bool first_ = true;  // true while the innermost object or array is empty
  bool after_key_ = false;
};

}  // namespace pitwall::codec
