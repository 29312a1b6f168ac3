// Text and curves of responses of the Prometheus query API.
#pragma once

#include <string>
#include <vector>

#include "services/app/cli/history/history_client.h"
#include "services/app/cli/history/plot.h"
#include "services/base/status.h"

namespace pitwall::history_client {

// Returns the `data` of a response. Returns DataLoss for another format.
StatusOr<Json> QueryData(Json answer);
// Returns name{a="b"}, or "{}" without labels.
std::string SeriesText(const Json& metric);

// Returns one line per series of a vector, value first. For a matrix it returns number of points,
// minimum, mean, maximum, and last value per series, or all points with `points`. For a scalar or
// string: its value.
StatusOr<std::string> QueryTable(const Json& data, bool points);
// Returns the curves of a matrix, or InvalidArgument for another type.
StatusOr<std::vector<Curve>> CurvesOf(const Json& data);

}  // namespace pitwall::history_client
