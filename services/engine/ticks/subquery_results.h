// Results of one subquery: samples of a store of its own, and the steps that failed. Private to the
// engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rules/eval/vector.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/position.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Positions on the clock of the domain. Not thread-safe.
class SubqueryResults {
 public:
  using DemandsPtr = std::shared_ptr<const DemandSet>;

  SubqueryResults(DemandsPtr demands, const window::Limits& limits);

  // Windows over the results. Stays in place until Restore.
  window::SeriesStore& store() const { return *store_; }
  // The subquery is new on a running job: results begin after `position`.
  void BeginAt(int64_t position) { since_ = position; }
  // The begin of BeginAt; kMinPosition for a subquery of the first program.
  int64_t since() const { return since_; }

  // Adds the result of the step `tick`, or its failure. `reach`: failures of that age are
  // forgotten.
  void Add(int64_t tick, const StatusOr<const eval::Vector*>& result, int64_t reach);
  // Reads are as of this tick.
  void BeginTick(int64_t tick);
  // OK, or the reason why the window of demand `index` is incomplete at the tick: the failure of a
  // step in it, or a limit of the store.
  Status Check(const Demand& demand, uint32_t index, int64_t tick) const;

  // Another program, whose evaluator has other bindings.
  void Replace(DemandsPtr demands);
  // Drops all results.
  void Reset();

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in, DemandsPtr demands, const window::Limits& limits);

 private:
  Status Append(int64_t tick, const StatusOr<const eval::Vector*>& result);

  std::unique_ptr<window::SeriesStore> store_;
  int64_t since_ = kMinPosition;
  // Steps that failed and that some window may still have, ascending, and the error of the last.
  std::vector<int64_t> failures_;
  Status failure_;
  // Layout of a row of results, valid while their binding stays.
  uint64_t binding_ = 0;
  std::optional<window::RowPlanId> plan_;
  std::vector<double> row_;  // scratch
};

}  // namespace pitwall::engine
