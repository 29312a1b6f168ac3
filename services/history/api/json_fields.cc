#include "services/history/api/json_fields.h"

namespace pitwall::history {

void NextField(const Page& page, JsonWriter* out) {
  out->Key("next");
  if (page.next.empty()) return out->Null();
  out->String(page.next);
}

}  // namespace pitwall::history
