// Writes JSON text in the order of the calls: deterministic bytes, no white space, no look-back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pitwall::cloudevents {

// Calls must nest properly; inside an object every value follows a Key. Not thread-safe.
class JsonWriter {
 public:
  // What a number with all of its digits takes, with its comma.
  static constexpr size_t kNumberBytes = 20;

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(std::string_view name);
  // Bytes that are no UTF-8 become U+FFFD.
  void String(std::string_view value);
  void Uint(uint64_t value);
  void Int(int64_t value);
  void Bool(bool value);
  void Null();
  // A value that is JSON text already.
  void Raw(std::string_view json);
  // Shortest text that reads back as the same double; "NaN", "+Inf", "-Inf" as strings.
  void Double(double value);
  // An array of numbers, with null for NaN and infinities: what Double and Null write one by one.
  void Numbers(std::span<const double> values);

  // Key and value, left out when the value is empty.
  void Text(std::string_view key, std::string_view value);

  // Memory for about so many bytes that follow: a long text is not copied as it grows.
  void Reserve(size_t bytes) { out_.reserve(out_.size() + bytes); }
  std::string Take() { return std::move(out_); }

 private:
  void Begin(char c);
  void End(char c);
  void Separate();
  void Quoted(std::string_view value);

  std::string out_;
  bool first_ = true;  // nothing is yet in the innermost object or array
  bool after_key_ = false;
};

}  // namespace pitwall::cloudevents
