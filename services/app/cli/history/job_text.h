// Text of jobs of the history for people.
#pragma once

#include <string>

#include "services/app/cli/history/history_client.h"

namespace pitwall::history_client {

// Returns a field as text, or "" if it is missing or null. Times in nanoseconds become times.
std::string FieldText(const Json& object, const char* name);
// Returns a field with digits of nanoseconds, or 0.
int64_t FieldNs(const Json& object, const char* name);

// Returns a table with a header of the `jobs` of GET /jobs. Columns are as wide as their content.
std::string JobTable(const Json& jobs);
// Returns the page of GET /job: name and owner, attempts with their parts, sources, and issues.
std::string JobPage(const Json& job);

}  // namespace pitwall::history_client
