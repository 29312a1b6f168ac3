// Text and curves for responses from the Prometheus query API.
#pragma once

#include <string>
#include <vector>

#include "services/app/cli/history/history_client.h"
#include "services/app/cli/history/plot.h"
#include "services/base/status.h"

namespace pitwall::history_client {

// Returns the `data` field of a response. Returns DataLoss if the response has an unexpected
// format.
StatusOr<Json> QueryData(Json answer);
// Returns the label set as name{a="b"}, or "{}" if it is empty.
std::string SeriesText(const Json& metric);

// Formats a query result. A vector is printed with one line per series, value first. A matrix is
// printed with one line per series (number of points, minimum, mean, maximum, and last value), or
// with one line per point if `points` is true. A scalar or string is printed as its value.
StatusOr<std::string> QueryTable(const Json& data, bool points);
// Returns the curves from a matrix, or InvalidArgument for any other result type.
StatusOr<std::vector<Curve>> CurvesOf(const Json& data);

}  // namespace pitwall::history_client
