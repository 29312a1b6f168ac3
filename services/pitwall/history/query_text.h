// Answers of Prometheus' query API as tables and curves.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/pitwall/history/history_client.h"
#include "services/pitwall/history/plot.h"

namespace pitwall::history_client {

// The `data` of an answer. DataLoss: it is no such answer.
StatusOr<Json> QueryData(Json answer);
// name{a="b"}; "{}" where there are no labels.
std::string SeriesText(const Json& metric);

// A vector: a line for each series, value first. A matrix: count, least, mean, greatest and last
// of each series, or with `points` all of them. A scalar or string: its value.
StatusOr<std::string> QueryTable(const Json& data, bool points);
// Of a matrix. InvalidArgument: it is another type.
StatusOr<std::vector<Curve>> CurvesOf(const Json& data);

}  // namespace pitwall::history_client
