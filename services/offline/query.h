// One PromQL expression over given samples, through the streaming engine: samples are fed in the
// order of time, the answer is read at each tick. What golden scripts and the differential test
// ask.
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
  Labels labels;  // with __name__; no two series of one call have equal ones
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
  int64_t subquery_interval = plan::kDefaultInterval;  // of subqueries without a step
  size_t max_elements = SIZE_MAX;                      // of all ticks; beyond: ResourceExhausted
  // Called every few milliseconds; any status but OK ends the query with it. May be empty.
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
    // In the order that sort(), topk() and their like at the root of the expression ask for, else
    // in the order of labels. A scalar is one element without labels.
    std::vector<QueryElement> elements;
  };
  std::vector<Tick> ticks;
};

// InvalidArgument: the expression is malformed, or fails at some tick, in Prometheus' words.
// Unimplemented: it is PromQL, and this engine cannot do it. ResourceExhausted: a limit.
StatusOr<QueryAnswer> RunQuery(const std::vector<QuerySeries>& series, const Query& query);

}  // namespace pitwall::offline
