// Inputs for one domain's rules: windows over its series, results of its subqueries, and the
// evaluator that reads both. Private to the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/ticks/subqueries.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Not thread-safe.
class DomainInputs {
 public:
  struct Limits {
    window::Limits series;      // for the domain's own series
    window::Limits subqueries;  // for each subquery
  };

  DomainInputs(plan::ProgramPtr program, size_t domain, const Limits& limits);

  const plan::ProgramPtr& program() const { return program_; }
  const plan::DomainPlan& domain() const { return program_->domains[domain_]; }
  size_t domain_index() const { return domain_; }
  bool on_steps() const { return domain().demands.clock.step; }
  // Shared with row plans so that they can check whether the store still exists.
  const std::shared_ptr<window::SeriesStore>& store() const { return store_; }
  eval::Evaluator& evaluator() { return *evaluator_; }
  Subqueries& subqueries() { return subqueries_; }
  const Subqueries& subqueries() const { return subqueries_; }

  // Sets the origin for windows with align_job. Must be called once, before the first tick.
  void SetOrigin(Position origin);
  // Seals all samples up to the tick. Later reads are as of this tick.
  void BeginTick(Position tick);
  // Goes back to `tick`: later reads are as of this tick. Returns false if later samples have been
  // sealed, or if no samples have been sealed since the last restart.
  bool ReturnTo(Position tick);
  // Evaluates the subqueries that are due at the tick and that no rule has read yet.
  void FinishTick() { subqueries_.Finish(evaluator_.get()); }
  // Returns the reason why the windows of `demands` are incomplete at the tick, or OK.
  Status CheckWindows(std::span<const plan::DemandRef> demands, Position tick) const;

  // Installs another program. Unchanged windows and subqueries keep their contents; new subqueries
  // start at `start`.
  void Replace(plan::ProgramPtr program, size_t domain, const ReloadStart& start);
  // Drops all samples.
  void Reset();
  // Drops series that are outside all windows. Returns the dropped series of the domain, sorted.
  std::vector<window::SeriesId> Expire();

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  plan::ProgramPtr program_;
  size_t domain_;
  const window::Limits limits_;
  std::shared_ptr<window::SeriesStore> store_;
  Subqueries subqueries_;
  std::unique_ptr<eval::Evaluator> evaluator_;
};

}  // namespace pitwall::engine
