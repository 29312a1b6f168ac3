// Writers for JSON fields in the API (docs/api.md, "Rules for all routes").
#pragma once

#include <cstddef>

#include "services/adapters/http/http_server.h"
#include "services/codec/json/json_fields.h"
#include "services/history/api/parameters.h"

namespace pitwall::history {

using codec::JsonWriter;

// Returns a response with one object. `fields` writes its fields. `bytes` is the estimated size.
template <typename Fields>
http::HttpResponse JsonAnswer(const Fields& fields, size_t bytes = 0) {
  JsonWriter out;
  out.Reserve(bytes);
  out.BeginObject();
  fields(&out);
  out.EndObject();
  return http::HttpResponse::Json(out.Take());
}

// Writes "next" with the token of the next page, or null on the last page.
void NextField(const Page& page, JsonWriter* out);

}  // namespace pitwall::history
