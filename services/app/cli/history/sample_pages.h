// Export of the raw samples of a job as CSV, in time ranges that fit a response of the API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/app/cli/history/history_client.h"
#include "services/app/cli/history/span_pages.h"
#include "services/base/status.h"

namespace pitwall::history_client {

inline constexpr std::string_view kCsvHead = "metric,labels,time_ns,step,value\n";

// Passes each row of [from_ns, to_ns) with its line break to `take`. Returns the number of rows.
// `match` has at least one selector. Rows are sorted by series within a time range, and the ranges
// follow each other. NaN and infinities, which the API cannot represent, are "NaN".
StatusOr<uint64_t> WriteCsv(const Client& client, const SliceOf& slice,
                            const std::vector<std::string>& match, int64_t from_ns, int64_t to_ns,
                            const std::function<Status(std::string_view)>& take);

}  // namespace pitwall::history_client
