// Raw samples of a slice of a job as CSV, in stretches of time that the API can answer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/pitwall/history/history_client.h"
#include "services/pitwall/history/span_pages.h"

namespace pitwall::history_client {

inline constexpr std::string_view kCsvHead = "metric,labels,time_ns,step,value\n";

// `match`: selectors, at least one. `from_ns` and `to_ns`: [from, to). Each row is given to `take`
// with its line break; returns their count. Rows are sorted by series within a stretch of time, and
// stretches follow each other. NaN, and infinities, which the API has no form for, are "NaN".
StatusOr<uint64_t> WriteCsv(const Client& client, const SliceOf& slice,
                            const std::vector<std::string>& match, int64_t from_ns, int64_t to_ns,
                            const std::function<Status(std::string_view)>& take);

}  // namespace pitwall::history_client
