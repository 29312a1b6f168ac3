// HTTP routes for silences: GET and POST /api/pitwall/v1/silences, DELETE
// /api/pitwall/v1/silences/ID (docs/notify.md).
#pragma once

#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/notifier/policies/silence_table.h"

namespace pitwall {

// The `view` role may list silences. The `act` role may add and expire them. `book` must outlive
// the routes.
std::vector<http::HttpRoute> SilenceRoutes(notifier::SilenceTable* book);

}  // namespace pitwall
