// Results of one subquery: samples in a separate store, and failed steps. Private to the engine.
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
#include "services/base/time.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Not thread-safe.
class SubqueryResults {
 public:
  using DemandsPtr = std::shared_ptr<const DemandSet>;

  SubqueryResults(DemandsPtr demands, const window::Limits& limits);

  // Windows over the results. The reference stays valid until Restore.
  window::SeriesStore& store() const { return *store_; }
  // Sets the position after which results start, for a subquery that is added to a running job.
  void BeginAt(Position position) { since_ = position; }
  // Position passed to BeginAt; Position::Earliest() for a subquery in the first program.
  Position since() const { return since_; }

  // Adds the result or the failure of the step at `tick`. Drops failures older than `reach`.
  void Add(Position tick, const StatusOr<const eval::Vector*>& result, Duration reach);
  // All later reads are as of this tick.
  void BeginTick(Position tick);
  // Returns the reason why the window of demand `index` is incomplete at the tick, or OK. The
  // reason is a failed step within the window or an exceeded store limit.
  Status Check(const Demand& demand, uint32_t index, Position tick) const;

  // Installs another program, whose evaluator has different bindings.
  void Replace(DemandsPtr demands);
  // Drops all results.
  void Reset();

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in, DemandsPtr demands, const window::Limits& limits);

 private:
  Status Append(Position tick, const StatusOr<const eval::Vector*>& result);

  std::unique_ptr<window::SeriesStore> store_;
  Position since_ = Position::Earliest();
  // Failed steps that some window may still cover, in ascending order, and the error of the last
  // failed step.
  std::vector<Position> failures_;
  Status failure_;
  // Layout of a result row, valid until the binding of the results changes.
  uint64_t binding_ = 0;
  std::optional<window::RowPlanId> plan_;
  std::vector<double> row_;  // Scratch space.
};

}  // namespace pitwall::engine
