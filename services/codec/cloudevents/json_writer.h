// Writer of JSON text in the order of the calls, with deterministic bytes and no white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pitwall::cloudevents {

// Calls must nest correctly; inside an object a Key precedes every value. Not thread-safe.
class JsonWriter {
 public:
  // Size of a number with all digits and its comma.
  static constexpr size_t kNumberBytes = 20;

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(std::string_view name);
  // Bytes that are not UTF-8 become U+FFFD.
  void String(std::string_view value);
  void Uint(uint64_t value);
  void Int(int64_t value);
  void Bool(bool value);
  void Null();
  // Appends a value that is already JSON text.
  void Raw(std::string_view json);
  // Shortest text that parses to the same double; "NaN", "+Inf", "-Inf" as strings.
  void Double(double value);
  // An array of numbers, with null for NaN and infinities. Same text as Double and Null per
  // element.
  void Numbers(std::span<const double> values);

  // Key and value; omitted if the value is empty.
  void Text(std::string_view key, std::string_view value);

  // Reserves memory for about this many further bytes, so that a long text is not copied as it
  // grows.
  void Reserve(size_t bytes) { out_.reserve(out_.size() + bytes); }
  std::string Take() { return std::move(out_); }

 private:
  void Begin(char c);
  void End(char c);
  void Separate();
  void Quoted(std::string_view value);

  std::string out_;
  bool first_ = true;  // the innermost object or array is empty
  bool after_key_ = false;
};

}  // namespace pitwall::cloudevents
