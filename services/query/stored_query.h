// One PromQL expression over complete samples of the past: the query API of the history. Selectors,
// `@`, offsets of either sign, and subqueries may read any time. Results are bit-identical to those
// of Prometheus 3, except for the list in decision 0046.
//
//  * Make parses and plans the text; needs() lists the samples to read.
//  * Run evaluates them tick by tick, through rules/eval.
//
// Pure: no clock, no I/O. A query is immutable and thread-safe.
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

// Ticks at start, start + step, … up to end, in nanoseconds. An instant query has start == end.
struct QuerySpan {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 60'000'000'000;  // > 0
  int64_t lookback = 300'000'000'000;
  int64_t subquery_interval = 60'000'000'000;  // of subqueries without a step
};

enum class AnswerType { kScalar, kVector, kString, kMatrix };

struct AnswerSeries {
  Labels labels;
  std::vector<std::pair<int64_t, double>> points;  // ascending
};

struct RunLimits {
  // Maximum number of points of the answer and of subqueries. Beyond: ResourceExhausted.
  size_t points = 20'000'000;
  size_t evaluations = 1'000'000;  // of all subqueries
  // Maximum bytes of the label sets of the answer and of subqueries.
  size_t label_bytes = size_t{128} << 20;
  // Maximum bytes of the results and label sets of all parts of the expression at one time.
  size_t held_bytes = size_t{512} << 20;
  // Called every few milliseconds; an error ends the run with it. May be empty.
  std::function<Status()> check;
};

class StoredQuery {
 public:
  // InvalidArgument: the expression is malformed. Unimplemented: valid PromQL that this evaluator
  // does not support.
  static StatusOr<StoredQuery> Make(std::string_view text, const QuerySpan& span);
  ~StoredQuery();
  StoredQuery(StoredQuery&&) noexcept;
  StoredQuery& operator=(StoredQuery&&) noexcept;

  AnswerType type() const;
  // Returns the value of a kString.
  const std::string& text() const;
  const lang::Expr& expr() const;
  const QuerySpan& span() const;
  // Returns true if the query has windows that only the streaming engine supports ([500 samples],
  // [attempt], functions of Pitwall): Run rejects it, offline::RunQuery accepts it.
  bool needs_streaming() const;

  // Samples of `selector` in (from, to].
  struct Need {
    Selector selector;
    int64_t from = 0;
    int64_t to = 0;
  };
  const std::vector<Need>& needs() const;

  // `series`: the series of each need, with unique labels. Returns series in the order of labels; a
  // series has points at ticks with results. A scalar is one series without labels.
  // InvalidArgument: the evaluation fails, with the message of Prometheus. ResourceExhausted: a
  // limit.
  StatusOr<std::vector<AnswerSeries>> Run(std::span<const std::vector<StoredSeries>> series,
                                          const RunLimits& limits) const;

 private:
  struct Plan;
  explicit StoredQuery(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

}  // namespace pitwall::query
