// Annotations of a query beside its answer, as in Prometheus.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "services/history/promapi/response.h"
#include "services/query/stored_query.h"

namespace pitwall::promapi {

// What follows from the expression itself and from the series that it reads: φ outside of [0, 1],
// rate() over what has no counter's name, sort() in a range query. `text`: of the query.
// `series`: for each need.
Annotations AnnotationsOf(std::string_view text, const query::StoredQuery& asked,
                          std::span<const std::vector<query::StoredSeries>> series);

}  // namespace pitwall::promapi
