// Writers for JSON fields in the API (docs/api.md, "Rules for all routes").
#pragma once

#include <string_view>

#include "services/codec/json/json_fields.h"
#include "services/history/api/parameters.h"

namespace pitwall::history {

using codec::JsonWriter;

// Writes "next" with the token of the next page, or null on the last page.
void NextField(const Page& page, JsonWriter* out);

}  // namespace pitwall::history
