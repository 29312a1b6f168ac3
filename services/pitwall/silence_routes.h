// Silences over HTTP: GET and POST /api/pitwall/v1/silences, DELETE /api/pitwall/v1/silences/ID
// (docs/notify.md).
#pragma once

#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/notifier/policies/silence_table.h"

namespace pitwall {

// Who views may list; who acts may add and expire. `book` is borrowed.
std::vector<http::HttpRoute> SilenceRoutes(notifier::SilenceTable* book);

}  // namespace pitwall
