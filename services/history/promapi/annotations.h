// Annotations for a query result, as in Prometheus.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "services/history/promapi/response.h"
#include "services/query/stored_query.h"

namespace pitwall::promapi {

// Derives annotations from the expression and the series that it reads. Examples are a φ outside
// [0, 1], rate() on a metric whose name does not look like a counter's, and sort() in a range
// query. `text` is the query. `series` has one entry per selector in the query.
Annotations AnnotationsOf(std::string_view text, const query::StoredQuery& asked,
                          std::span<const std::vector<query::StoredSeries>> series);

}  // namespace pitwall::promapi
