// PromQL expression that is evaluated over stored samples, for the history service's query API.
// Selectors, `@`, offsets of either sign, and subqueries may read any time. Results are
// bit-identical to those of Prometheus 3, with the exceptions listed in decision 0046.
//
//  * Make parses and plans the expression; needs() lists the samples to read.
//  * Run evaluates the expression tick by tick with rules/eval.
//
// The evaluation does not use clocks or I/O. A query is immutable and thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/lang/ast.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/query/stored_series.h"

namespace pitwall::query {

// Evaluation times in nanoseconds: start, start + step, and so on, up to end. For an instant query,
// start equals end.
struct QuerySpan {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 60'000'000'000;  // must be > 0
  int64_t lookback = 300'000'000'000;
  int64_t subquery_interval = 60'000'000'000;  // step of subqueries that do not specify one
};

enum class AnswerType { kScalar, kVector, kString, kMatrix };

struct AnswerSeries {
  Labels labels;
  std::vector<std::pair<int64_t, double>> points;  // in ascending order of time
};

struct RunLimits {
  // Maximum number of points in the query result and in the subquery results. Run returns
  // ResourceExhausted if any limit in this struct is exceeded.
  size_t points = 20'000'000;
  size_t evaluations = 1'000'000;  // total across all subqueries
  // Maximum total size of the label sets in the query result and in the subquery results, in bytes.
  size_t label_bytes = size_t{128} << 20;
  // Maximum memory for intermediate results and their label sets at any point in time, in bytes.
  size_t held_bytes = size_t{512} << 20;
  // Called every few milliseconds. If it returns an error, Run stops and returns the error. May be
  // empty.
  std::function<Status()> check;
};

class StoredQuery {
 public:
  // Parses and plans an expression. Returns InvalidArgument if the expression is malformed, and
  // Unimplemented if it is valid PromQL that this evaluator does not support.
  static StatusOr<StoredQuery> Make(std::string_view text, const QuerySpan& span);
  ~StoredQuery();
  StoredQuery(StoredQuery&&) noexcept;
  StoredQuery& operator=(StoredQuery&&) noexcept;

  AnswerType type() const;
  // Returns the string value of a query of type kString.
  const std::string& text() const;
  const lang::Expr& expr() const;
  const QuerySpan& span() const;
  // Returns true if the query has windows or functions that only the streaming engine supports:
  // [500 samples], [attempt], or Pitwall-specific functions. Run rejects such queries, but
  // offline::RunQuery accepts them.
  bool needs_streaming() const;

  // Samples that Run requires: a selector and a time range (from, to].
  struct Need {
    Selector selector;
    int64_t from = 0;
    int64_t to = 0;
  };
  const std::vector<Need>& needs() const;

  // Evaluates the query. `series` contains the series for each need; their labels must be unique.
  // Returns the resulting series sorted by labels, with points only at ticks that have a result. A
  // scalar is returned as one series without labels. Returns InvalidArgument with Prometheus's
  // message if the evaluation fails, and ResourceExhausted if a limit is exceeded.
  StatusOr<std::vector<AnswerSeries>> Run(std::span<const std::vector<StoredSeries>> series,
                                          const RunLimits& limits) const;

 private:
  struct Plan;
  explicit StoredQuery(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

}  // namespace pitwall::query
