// Evaluation of a PromQL expression over given samples with the streaming engine. Samples are fed
// in time order, and the result is read at each tick. Used by golden scripts and the differential
// test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rules/plan/compile.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

struct QuerySeries {
  Labels labels;  // includes __name__; must be unique among the series of a query
  // Pairs of (position in nanoseconds, value), in ascending order. StaleMarker() ends the series.
  std::vector<std::pair<int64_t, double>> samples;
};

// Evaluation times: start, start + step, and so on, up to end. For an instant query, start equals
// end.
struct Query {
  std::string expr;
  int64_t start = 0;  // in nanoseconds; may be negative
  int64_t end = 0;
  int64_t step = plan::kDefaultInterval;  // must be > 0
  int64_t lookback = plan::kDefaultLookback;
  int64_t subquery_interval = plan::kDefaultInterval;  // step of subqueries that do not specify one
  size_t max_elements = SIZE_MAX;  // maximum over all ticks; ResourceExhausted if exceeded
  // Called every few milliseconds. If it returns an error, the query stops and returns the error.
  // May be empty.
  std::function<Status()> check;
};

struct QueryElement {
  Labels labels;
  double value = 0;
};

enum class QueryType { kScalar, kVector, kString };

struct QueryAnswer {
  QueryType type = QueryType::kVector;
  std::string text;  // value of a kString result
  struct Tick {
    int64_t position = 0;
    // Elements are ordered by labels, unless the expression has sort(), topk(), or a similar
    // function at its root. A scalar is one element without labels.
    std::vector<QueryElement> elements;
  };
  std::vector<Tick> ticks;
};

// Runs the query. Returns InvalidArgument if the expression is malformed or, with Prometheus's
// message, if the evaluation fails at some tick. Returns Unimplemented for valid PromQL that this
// engine does not support, and ResourceExhausted if a limit is exceeded.
StatusOr<QueryAnswer> RunQuery(const std::vector<QuerySeries>& series, const Query& query);

}  // namespace pitwall::offline
