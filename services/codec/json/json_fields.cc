#include "services/codec/json/json_fields.h"

#include <array>
#include <charconv>
#include <cmath>

namespace pitwall::codec {

void WriteNumber(double value, JsonWriter* out) {
  if (std::isfinite(value)) {
    out->Double(value);
  } else {
    out->Null();
  }
}

void NumberField(std::string_view key, double value, JsonWriter* out) {
  out->Key(key);
  WriteNumber(value, out);
}

void WriteNs(int64_t ns, JsonWriter* out) {
  std::array<char, 24> text;  // includes the two quotes
  text[0] = '"';
  char* const end = std::to_chars(&text[1], text.data() + text.size() - 1, ns).ptr;
  *end = '"';
  out->Raw({text.data(), end + 1});
}

void NsField(std::string_view key, int64_t ns, JsonWriter* out) {
  out->Key(key);
  WriteNs(ns, out);
}

void TimeField(std::string_view key, int64_t unix_ns, JsonWriter* out) {
  out->Key(key);
  if (unix_ns == 0) return out->Null();
  WriteNs(unix_ns, out);
}

void WriteIndex(int64_t index, JsonWriter* out) {
  if (index < 0) return out->Null();
  out->Int(index);
}

void IndexField(std::string_view key, int64_t index, JsonWriter* out) {
  out->Key(key);
  WriteIndex(index, out);
}

void TextField(std::string_view key, std::string_view text, JsonWriter* out) {
  out->Key(key);
  out->String(text);
}

void CountField(std::string_view key, uint64_t count, JsonWriter* out) {
  out->Key(key);
  out->Uint(count);
}

void BoolField(std::string_view key, bool value, JsonWriter* out) {
  out->Key(key);
  out->Bool(value);
}

void LabelsField(std::string_view key, const Labels& labels, JsonWriter* out) {
  out->Key(key);
  out->BeginObject();
  for (const Label& label : labels) TextField(label.name, label.value, out);
  out->EndObject();
}

void NullField(std::string_view key, JsonWriter* out) {
  out->Key(key);
  out->Null();
}

void RawField(std::string_view key, std::string_view json, JsonWriter* out) {
  out->Key(key);
  out->Raw(json);
}

void NumbersField(std::string_view key, std::span<const double> values, JsonWriter* out) {
  out->Key(key);
  out->Numbers(values);
}

}  // namespace pitwall::codec
