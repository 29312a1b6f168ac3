// The subqueries of one domain for one job: each is evaluated at the multiples of its step, and its
// results are samples of a store of their own, over which windows run as over any other series. So
// a subquery costs one evaluation a step, however long its window.
//
// A step has its result when the rules of the tick that it falls on ask for it first (what earlier
// rules of that tick recorded is seen), at the latest when the tick ends. Single-threaded, reads no
// clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Subqueries that the node reads, those inside of others too, ascending. Nothing for kNoNode.
std::vector<uint32_t> SubqueriesBelow(const plan::DomainPlan& domain, plan::NodeId node);

class Subqueries {
 public:
  Subqueries(plan::ProgramPtr program, size_t domain, const window::Limits& limits);
  ~Subqueries();

  // Where windows with align_job count from. Once, before the first Start.
  void SetOrigin(int64_t origin);
  // Steps are due after `position`; where an expression has results without any samples, as far
  // before it as windows look back, but after `not_before`.
  void Start(int64_t position, int64_t not_before);
  // kMaxPosition: none is due, ever or before Start.
  int64_t NextTick() const;
  // Leaves out what no window that ends at or after `position` holds.
  void SkipTo(int64_t position);

  // What evaluation reads: parallel to DomainPlan::subqueries. Valid until Restore and Replace.
  std::span<ColumnView* const> views() const { return views_; }
  // The evaluator has begun this tick. Those that are not due are ready to be read.
  void Begin(int64_t tick);
  // Evaluates those of `wanted` (ascending) that are due at the tick and were not yet.
  void Run(std::span<const uint32_t> wanted, eval::Evaluator* evaluator);
  // All that are left.
  void Finish(eval::Evaluator* evaluator);

  // OK, or why a window that the demand has at the tick is incomplete: a step that failed in it,
  // or a limit of the store.
  Status Check(const plan::DemandRef& demand, int64_t tick) const;
  // First tick at which the windows over a subquery of a running job hold all that they should;
  // kMinPosition when it was there from the beginning on.
  int64_t FullFrom(uint32_t subquery) const;

  // Forgets series that no window can see any more.
  void Expire();
  // As new, before Start; the origin stays.
  void Reset();
  // Those with equal keys keep their state; others begin at `position`.
  void Replace(plan::ProgramPtr program, size_t domain, int64_t position);

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  struct State;
  const plan::DomainPlan& domain() const { return program_->domains[domain_]; }
  std::shared_ptr<const DemandSet> DemandsOf(size_t index) const;
  std::unique_ptr<State> Make(size_t index) const;
  void RunOne(size_t index, eval::Evaluator* evaluator);
  void ListViews();

  plan::ProgramPtr program_;
  size_t domain_;
  const window::Limits limits_;
  int64_t tick_ = kMinPosition;
  std::vector<std::unique_ptr<State>> states_;
  std::vector<std::vector<uint32_t>> inner_;  // subqueries that each one reads
  std::vector<uint32_t> all_;
  // How far back results of each one may be looked at from a tick, through others around it too.
  std::vector<int64_t> reach_;
  std::vector<ColumnView*> views_;
};

}  // namespace pitwall::engine
