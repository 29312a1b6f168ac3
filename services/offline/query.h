// Query of one PromQL expression over given samples through the streaming engine: samples are fed
// in time order, and the answer is read at each tick. For golden scripts and the differential test.
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
  Labels labels;  // with __name__; series of one call must have distinct labels
  // (position in nanoseconds, value), ascending; StaleMarker() ends the series.
  std::vector<std::pair<int64_t, double>> samples;
};

// At start, start + step, … up to end. An instant query has start == end.
struct Query {
  std::string expr;
  int64_t start = 0;  // nanoseconds, may be negative
  int64_t end = 0;
  int64_t step = plan::kDefaultInterval;  // > 0
  int64_t lookback = plan::kDefaultLookback;
  int64_t subquery_interval = plan::kDefaultInterval;  // for subqueries without a step
  size_t max_elements = SIZE_MAX;  // over all ticks; ResourceExhausted beyond it
  // Called every few milliseconds; any status except OK ends the query with that status. May be
  // empty.
  std::function<Status()> check;
};

struct QueryElement {
  Labels labels;
  double value = 0;
};

enum class QueryType { kScalar, kVector, kString };

struct QueryAnswer {
  QueryType type = QueryType::kVector;
  std::string text;  // kString
  struct Tick {
    int64_t position = 0;
    // In the order that sort(), topk(), or a similar function at the root of the expression
    // requests, else in label order. A scalar is one element without labels.
    std::vector<QueryElement> elements;
  };
  std::vector<Tick> ticks;
};

// InvalidArgument: the expression is malformed or fails at some tick, with the text of Prometheus.
// Unimplemented: valid PromQL that this engine does not support. ResourceExhausted: a limit.
StatusOr<QueryAnswer> RunQuery(const std::vector<QuerySeries>& series, const Query& query);

}  // namespace pitwall::offline
