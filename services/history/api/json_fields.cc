#include "services/history/api/json_fields.h"

namespace pitwall::history {

void NextField(const Page& page, JsonWriter* out) {
  if (page.next.empty()) return NullField("next", out);
  TextField("next", page.next, out);
}

}  // namespace pitwall::history
