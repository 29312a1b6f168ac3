// CSV export of a job's raw samples. The job is split into time ranges that fit into one API
// response.
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

// Passes each row in [from_ns, to_ns), including its line break, to `take`. Returns the number of
// rows. `match` must contain at least one selector. Time ranges are in ascending order, and rows
// are sorted by series within a time range. The API cannot represent NaN and infinities, so both
// are written as "NaN".
StatusOr<uint64_t> WriteCsv(const Client& client, const SliceOf& slice,
                            const std::vector<std::string>& match, int64_t from_ns, int64_t to_ns,
                            const std::function<Status(std::string_view)>& take);

}  // namespace pitwall::history_client
