// Writers of fields in Pitwall's own JSON. Times are nanoseconds as strings, because a double
// cannot represent them; numbers that are not finite are null.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "services/codec/json/json_writer.h"
#include "services/model/labels.h"

namespace pitwall::codec {

// Writes a number, or null for NaN and infinities.
void WriteNumber(double value, JsonWriter* out);
void NumberField(std::string_view key, double value, JsonWriter* out);
// Writes a time in nanoseconds as a string.
void WriteNs(int64_t ns, JsonWriter* out);
void NsField(std::string_view key, int64_t ns, JsonWriter* out);
// Writes a point in time, or null for 0 (unknown).
void TimeField(std::string_view key, int64_t unix_ns, JsonWriter* out);
// Writes an index, or null if the index is negative (no rank or no step).
void WriteIndex(int64_t index, JsonWriter* out);
void IndexField(std::string_view key, int64_t index, JsonWriter* out);
void TextField(std::string_view key, std::string_view text, JsonWriter* out);
void CountField(std::string_view key, uint64_t count, JsonWriter* out);
void BoolField(std::string_view key, bool value, JsonWriter* out);
void LabelsField(std::string_view key, const Labels& labels, JsonWriter* out);
void NullField(std::string_view key, JsonWriter* out);
// Writes a value that is already encoded as JSON.
void RawField(std::string_view key, std::string_view json, JsonWriter* out);
void NumbersField(std::string_view key, std::span<const double> values, JsonWriter* out);

// Writes an object. `fields` writes its fields.
template <typename Fields>
void ObjectField(std::string_view key, JsonWriter* out, const Fields& fields) {
  out->Key(key);
  out->BeginObject();
  fields();
  out->EndObject();
}
// Writes an array. `value` writes the value of an element, or nothing to omit it.
template <typename List, typename Value>
void ArrayField(std::string_view key, const List& list, JsonWriter* out, const Value& value) {
  out->Key(key);
  out->BeginArray();
  for (const auto& one : list) value(one);
  out->EndArray();
}
// Writes an array of objects. `fields` writes the fields of an element.
template <typename List, typename Fields>
void ObjectsField(std::string_view key, const List& list, JsonWriter* out, const Fields& fields) {
  ArrayField(key, list, out, [&](const auto& one) {
    out->BeginObject();
    fields(one);
    out->EndObject();
  });
}
template <typename Texts>
void TextsField(std::string_view key, const Texts& texts, JsonWriter* out) {
  ArrayField(key, texts, out, [&](std::string_view text) { out->String(text); });
}

}  // namespace pitwall::codec
