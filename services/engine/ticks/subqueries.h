// Subqueries of one domain for one job. Each is evaluated at the multiples of its step, and its
// results are samples of a store of its own, over which windows run as over any other series. A
// subquery costs one evaluation per step, regardless of its window.
//
// A step is evaluated when a rule of its tick first reads it, and sees the series that earlier
// rules of the tick recorded; at the latest when the tick ends. Single-threaded, reads no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/engine/ticks/subquery_results.h"
#include "services/engine/ticks/subquery_schedule.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Returns the subqueries that the node reads, nested ones too, ascending. Empty for kNoNode.
std::vector<uint32_t> SubqueriesBelow(const plan::DomainPlan& domain, plan::NodeId node);

// Start of rules and subqueries that are new on a running domain.
struct ReloadStart {
  int64_t after = kMinPosition;   // they are due after it; kMinPosition: nothing is scheduled
  int64_t origin = kMinPosition;  // windows with align_job count from it; kMinPosition: not known
};

class Subqueries {
 public:
  Subqueries(plan::ProgramPtr program, size_t domain, const window::Limits& limits);

  // Sets the position from which windows with align_job count. Once, before the first step.
  void SetOrigin(int64_t origin);
  SubquerySchedule& schedule() { return schedule_; }
  const SubquerySchedule& schedule() const { return schedule_; }

  // Inputs of evaluation, parallel to DomainPlan::subqueries. Valid until Restore and Replace.
  std::span<ColumnView* const> views() const { return views_; }
  // The evaluator has begun this tick. Subqueries that are not due can be read.
  void Begin(int64_t tick);
  // Evaluates those of `wanted` (ascending) that are due at the tick.
  void Run(std::span<const uint32_t> wanted, eval::Evaluator* evaluator);
  // Evaluates all others that are due at the tick.
  void Finish(eval::Evaluator* evaluator) { Run(all_, evaluator); }

  // OK, or the reason why the window of the demand is incomplete at the tick: a step that failed in
  // it, or a limit of the store.
  Status Check(const plan::DemandRef& demand, int64_t tick) const;
  // First tick at which the windows over a subquery that is new on a running job are full;
  // kMinPosition for a subquery of the first program.
  int64_t FullFrom(uint32_t subquery) const;

  // Forgets series that no window can see.
  void Expire();
  // Drops all results and the schedule; the origin stays.
  void Reset();
  // Another program: subqueries with equal keys keep their state, others begin at `start`.
  void Replace(plan::ProgramPtr program, size_t domain, const ReloadStart& start);

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  const plan::DomainPlan& domain() const { return program_->domains[domain_]; }
  SubqueryResults::DemandsPtr DemandsOf(size_t index) const;
  void RunOne(size_t index, eval::Evaluator* evaluator);
  // Makes all that follows from the program and the results.
  void Link();

  plan::ProgramPtr program_;
  size_t domain_;
  const window::Limits limits_;
  int64_t tick_ = kMinPosition;
  SubquerySchedule schedule_;
  std::vector<std::unique_ptr<SubqueryResults>> results_;
  std::vector<std::vector<uint32_t>> inner_;  // subqueries that each one reads
  std::vector<uint32_t> all_;
  std::vector<ColumnView*> views_;
};

}  // namespace pitwall::engine
