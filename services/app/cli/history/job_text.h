// Human-readable text for jobs from the history.
#pragma once

#include <string>

#include "services/app/cli/history/history_client.h"

namespace pitwall::history_client {

// Returns a field as text, or "" if the field is missing or null. Timestamps in nanoseconds are
// formatted as dates and times.
std::string FieldText(const Json& object, const char* name);
// Returns the value of a field that contains decimal nanoseconds, or 0.
int64_t FieldNs(const Json& object, const char* name);

// Formats the `jobs` array of GET /jobs as a table with a header. Each column is as wide as its
// contents.
std::string JobTable(const Json& jobs);
// Formats the response of GET /job: the job's name and owner, attempts, breakdown of time, sources,
// and issues.
std::string JobPage(const Json& job);

}  // namespace pitwall::history_client
