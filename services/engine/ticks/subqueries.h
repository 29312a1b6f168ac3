// Subqueries in one domain for one job. Each subquery is evaluated at multiples of its step. Its
// results are samples in a separate store, and windows over them work like windows over any other
// series. A subquery costs one evaluation per step, regardless of its window.
//
// A step is evaluated when a rule first reads it at its tick, or when the tick ends. It sees the
// series that earlier rules recorded at the tick. Single-threaded, independent of the system clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/ticks/subquery_results.h"
#include "services/engine/ticks/subquery_schedule.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Returns the subqueries that the node reads, including nested ones, in ascending order. Empty for
// kNoNode.
std::vector<uint32_t> SubqueriesBelow(const plan::DomainPlan& domain, plan::NodeId node);

// Start position for rules and subqueries that a reload adds to a running domain.
struct ReloadStart {
  Position after = Position::Earliest();  // due after this position; Earliest(): not scheduled
  Position origin =
      Position::Earliest();  // windows with align_job count from here; Earliest(): unknown
};

class Subqueries {
 public:
  Subqueries(plan::ProgramPtr program, size_t domain, const window::Limits& limits);

  // Sets the origin for windows with align_job. Must be called once, before the first step.
  void SetOrigin(Position origin);
  SubquerySchedule& schedule() { return schedule_; }
  const SubquerySchedule& schedule() const { return schedule_; }

  // Inputs for the evaluator, parallel to DomainPlan::subqueries. Valid until Restore or Replace.
  std::span<ColumnView* const> views() const { return views_; }
  // Must be called after the evaluator has started the tick. Subqueries that are not due can then
  // be read.
  void Begin(Position tick);
  // Evaluates the subqueries in `wanted` (ascending) that are due at the tick.
  void Run(std::span<const uint32_t> wanted, eval::Evaluator* evaluator);
  // Evaluates all remaining subqueries that are due at the tick.
  void Finish(eval::Evaluator* evaluator) { Run(all_, evaluator); }

  // Returns the reason why the window of the demand is incomplete at the tick, or OK. The reason is
  // a failed step within the window or an exceeded store limit.
  Status Check(const plan::DemandRef& demand, Position tick) const;
  // Returns the first tick with full windows over a subquery that was added to a running job, or
  // Position::Earliest() for a subquery in the first program.
  Position FullFrom(uint32_t subquery) const;

  // Drops series that are outside all windows.
  void Expire();
  // Drops all results and the schedule, but keeps the origin.
  void Reset();
  // Installs another program. Subqueries with equal keys keep their state; others start at `start`.
  void Replace(plan::ProgramPtr program, size_t domain, const ReloadStart& start);

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  const plan::DomainPlan& domain() const { return program_->domains[domain_]; }
  SubqueryResults::DemandsPtr DemandsOf(size_t index) const;
  void RunOne(size_t index, eval::Evaluator* evaluator);
  // Rebuilds all state derived from the program and the results.
  void Link();

  plan::ProgramPtr program_;
  size_t domain_;
  const window::Limits limits_;
  Position tick_ = Position::Earliest();
  SubquerySchedule schedule_;
  std::vector<std::unique_ptr<SubqueryResults>> results_;
  std::vector<std::vector<uint32_t>> inner_;  // for each subquery, the subqueries that it reads
  std::vector<uint32_t> all_;
  std::vector<ColumnView*> views_;
};

}  // namespace pitwall::engine
