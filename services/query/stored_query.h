// One PromQL expression over samples that are all there, in the past: what the query API of the
// history asks. Selectors, `@`, offsets of either sign and subqueries read at whatever times they
// say. Results are those of Prometheus 3, to the bit but for what decision 0046 lists.
//
//   Make: the text is parsed and planned; needs() says which samples it reads
//   Run:  over those samples, tick by tick, through rules/eval
//
// Pure: no clock, no I/O. A made query is immutable and thread-safe.
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

// At start, start + step, … up to end. An instant query has start == end. In nanoseconds.
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
  // Points of the answer and of subqueries. Beyond: ResourceExhausted.
  size_t points = 20'000'000;
  size_t evaluations = 1'000'000;  // of all subqueries
  // Bytes of the label sets of the answer and of subqueries.
  size_t label_bytes = size_t{128} << 20;
  // Bytes of the results and label sets of all parts of the expression at one time.
  size_t held_bytes = size_t{512} << 20;
  // Asked every few milliseconds; anything but OK ends the run with it. May be empty.
  std::function<Status()> check;
};

class StoredQuery {
 public:
  // InvalidArgument: the expression is malformed. Unimplemented: it is PromQL that this evaluator
  // cannot do.
  static StatusOr<StoredQuery> Make(std::string_view text, const QuerySpan& span);
  ~StoredQuery();
  StoredQuery(StoredQuery&&) noexcept;
  StoredQuery& operator=(StoredQuery&&) noexcept;

  AnswerType type() const;
  // Of kString.
  const std::string& text() const;
  const lang::Expr& expr() const;
  const QuerySpan& span() const;
  // Whether the query has windows that only the streaming engine knows ([500 samples], [attempt],
  // Pitwall's own functions): Run refuses it, offline::RunQuery takes it.
  bool needs_streaming() const;

  // The samples of `selector` in (from, to].
  struct Need {
    Selector selector;
    int64_t from = 0;
    int64_t to = 0;
  };
  const std::vector<Need>& needs() const;

  // `series`: for each need its series, no two of equal labels. In the order of labels; a series
  // has points where it has results. A scalar is one series without labels. InvalidArgument: the
  // evaluation fails, in Prometheus' words. ResourceExhausted: a limit.
  StatusOr<std::vector<AnswerSeries>> Run(std::span<const std::vector<StoredSeries>> series,
                                          const RunLimits& limits) const;

 private:
  struct Plan;
  explicit StoredQuery(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

}  // namespace pitwall::query
