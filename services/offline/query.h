// Evaluation of one PromQL expression over given samples by the streaming engine. Samples are fed
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
  Labels labels;  // includes __name__; the series of a query must have distinct labels
  // Pairs of (position in nanoseconds, value), in ascending order. StaleMarker() ends the series.
  std::vector<std::pair<int64_t, double>> samples;
};

// Evaluation times: start, start + step, and so on, up to end. An instant query has start == end.
struct Query {
  std::string expr;
  int64_t start = 0;  // nanoseconds; may be negative
  int64_t end = 0;
  int64_t step = plan::kDefaultInterval;  // must be > 0
  int64_t lookback = plan::kDefaultLookback;
  int64_t subquery_interval = plan::kDefaultInterval;  // step of subqueries that do not specify one
  size_t max_elements = SIZE_MAX;  // over all ticks; ResourceExhausted if exceeded
  // Called every few milliseconds. An error aborts the query and is returned. May be empty.
  std::function<Status()> check;
};

struct QueryElement {
  Labels labels;
  double value = 0;
};

enum class QueryType { kScalar, kVector, kString };

struct QueryAnswer {
  QueryType type = QueryType::kVector;
  std::string text;  // value of a kString
  struct Tick {
    int64_t position = 0;
    // Ordered as requested by sort(), topk(), or a similar function at the root of the expression,
    // otherwise by labels. A scalar is one element without labels.
    std::vector<QueryElement> elements;
  };
  std::vector<Tick> ticks;
};

// Runs the query. Returns InvalidArgument if the expression is malformed or, with Prometheus's
// message, if the evaluation fails at some tick. Returns Unimplemented for valid PromQL that this
// engine does not support, and ResourceExhausted if a limit is exceeded.
StatusOr<QueryAnswer> RunQuery(const std::vector<QuerySeries>& series, const Query& query);

}  // namespace pitwall::offline
