// Writers of fields in Pitwall's own JSON. Times are nanoseconds as strings, because a double
// cannot represent them; numbers that are not finite are null.
#pragma once

#include <cstdint>
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
void IndexField(std::string_view key, int64_t index, JsonWriter* out);
void TextField(std::string_view key, std::string_view text, JsonWriter* out);
void CountField(std::string_view key, uint64_t count, JsonWriter* out);
void BoolField(std::string_view key, bool value, JsonWriter* out);
void LabelsField(std::string_view key, const Labels& labels, JsonWriter* out);

}  // namespace pitwall::codec
