// Jobs of the history as people read them.
#pragma once

#include <string>

#include "services/pitwall/history/history_client.h"

namespace pitwall::history_client {

// A field that may be missing or null, as text: "" then. Times in ns as text become times.
std::string FieldText(const Json& object, const char* name);
// Digits of nanoseconds; 0 where there are none.
int64_t FieldNs(const Json& object, const char* name);

// Lines with a head, of the `jobs` of GET /jobs. Columns are as wide as they need to be.
std::string JobTable(const Json& jobs);
// The page of GET /job: who, attempts with their parts, sources, issues.
std::string JobPage(const Json& job);

}  // namespace pitwall::history_client
