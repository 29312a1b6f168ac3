// Evaluates the nodes of one DomainPlan for one job, tick by tick.
//
// Binding and execution are apart: when the set of series changes, each node is bound again (labels
// interned and sorted, vector matching and grouping turned into index arrays); at a tick only
// arrays are read and written. While the set of series stays, Evaluate allocates nothing and hashes
// nothing.
//
// Semantics are those of Prometheus 3 for float samples. Additions run in the order of label sets
// (time-model.md, 2.8).
//
// Not thread-safe; one thread per partition. Values are doubles, positions as in
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
  // Elements of one result, counted over all bound series. More is an error of the rule.
  size_t max_elements = 1'000'000;
  LabelLimits labels;
  // Interrupts an evaluation; null for rules. Must outlive the evaluator.
  WorkMeter* meter = nullptr;
  // Bytes of all results and label sets that the evaluator holds; 0: no limit. They depend on
  // earlier ticks, so the limit is for queries only.
  size_t max_held_bytes = 0;
};

class Evaluator {
 public:
  // `program` must have a domain of that index. Parameters begin with the values of the program.
  Evaluator(plan::ProgramPtr program, size_t domain, EvaluatorOptions options = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // One per DomainPlan::parameters (missing ones keep the program's value). Results are forgotten.
  void SetParameters(std::vector<double> values);
  const std::vector<double>& parameters() const;

  // A new evaluation time. Results are forgotten, bindings are kept. `view` must outlive the
  // evaluations at this tick and must be about the same store each time; after a change of store
  // the generations must differ from those seen. `subqueries`: the same for the results of each
  // DomainPlan::subqueries.
  void Begin(int64_t tick, ColumnView* view, std::span<ColumnView* const> subqueries = {});

  // Recorded series were written at this tick: results are stale. Evaluation is lazy, so only what
  // a later rule asks for is computed again.
  void Changed();

  // The result at the tick, computed once and shared. The pointer stays valid for the life of the
  // evaluator, its content until results are forgotten. An error is the rule's, in Prometheus'
  // words: InvalidArgument (many-to-many matching, duplicate labels), ResourceExhausted (limits).
  StatusOr<const Vector*> Evaluate(plan::NodeId node);

  // Bytes held by bindings and results; label sets shared between nodes count once.
  size_t MemoryBytes() const;
  // How often a node was bound since the start: for tests and metrics.
  uint64_t binds() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::eval
