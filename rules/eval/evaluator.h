// Evaluator of one DomainPlan's nodes for one job, tick by tick.
//
// Binding and execution are separate. When the set of series changes, each node is bound again:
// labels are interned and sorted, and vector matching and grouping become index arrays. A tick only
// reads and writes arrays. While the set of series is unchanged, Evaluate neither allocates nor
// hashes.
//
// The semantics are those of Prometheus 3 for float samples. Values are added in label-set order
// (time-model.md, 2.8).
//
// Not thread-safe: each partition has one thread. Values are doubles, and positions are defined in
// services/model/position.h (time() is position / 1e9 on both clocks).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/label_limits.h"
#include "rules/eval/vector.h"
#include "rules/eval/work_meter.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/model/windows/demand.h"

namespace pitwall::eval {

struct EvaluatorOptions {
  // Maximum number of elements in one result, over all bound series. A rule with a larger result
  // fails with an error.
  size_t max_elements = 1'000'000;
  LabelLimits labels;
  // Meter that can interrupt an evaluation. Must be null for rules, and must outlive the evaluator.
  WorkMeter* meter = nullptr;
  // Limit in bytes for all results and label sets that the evaluator holds; 0 means no limit. The
  // size depends on earlier ticks, so only queries may have a limit.
  size_t max_held_bytes = 0;
};

class Evaluator {
 public:
  // Creates an evaluator for one domain. `program` must have a domain with that index. Parameters
  // initially have the program's values.
  Evaluator(plan::ProgramPtr program, size_t domain, EvaluatorOptions options = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Sets one value per entry in DomainPlan::parameters; missing values keep the program's value.
  // Discards all results.
  void SetParameters(std::vector<double> values);
  const std::vector<double>& parameters() const;

  // Starts evaluation at a new time: discards results and keeps bindings. `view` must outlive the
  // evaluations at this tick and must refer to the same store in every call. If the store changes,
  // its generations must differ from all earlier generations. `subqueries` contains views of the
  // results of DomainPlan::subqueries.
  void Begin(int64_t tick, ColumnView* view, std::span<ColumnView* const> subqueries = {});

  // Marks results as stale after recorded series were written at this tick. Evaluation is lazy, so
  // only the results that later rules need are recomputed.
  void Changed();

  // Returns the result at the tick, which is computed once and shared. The pointer is valid for the
  // evaluator's lifetime, and its content is valid until results are discarded. An error means that
  // the rule failed, and has the same text as in Prometheus: InvalidArgument (many-to-many
  // matching, duplicate labels) or ResourceExhausted (limits).
  StatusOr<const Vector*> Evaluate(plan::NodeId node);

  // Returns the number of bytes held by bindings and results. Label sets that nodes share count
  // once.
  size_t MemoryBytes() const;
  // Returns the number of node bindings performed since the start, for tests and metrics.
  uint64_t binds() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::eval
