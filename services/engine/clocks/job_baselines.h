// Summaries of finished jobs, written to a running job as series. Constant values are written with
// the engine's own series and at every step. Per-step values are written at their steps.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "rules/plan/baseline.h"
#include "services/base/time.h"
#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/row_writer.h"

namespace pitwall::engine {

// The state is derived from the rules and the job's name, and is never saved. Not thread-safe.
class JobBaselines {
 public:
  // The pointers are borrowed.
  JobBaselines(const JobIdentity* job, ClockDomains* domains, RowWriter* writer)
      : job_(job), domains_(domains), writer_(writer) {}

  // Selects the summaries that apply to the job. Does not write samples.
  void Find();
  // Updates the selection. Ends the series of summaries that no longer apply: on the time clock at
  // `position`, on a step clock after its watermark.
  void Change(Position position);
  // Must be called after the domains change, because their addresses may differ.
  void ForgetColumns() { columns_.clear(); }
  void Clear() { Take({}); }
  bool empty() const { return runs_.empty(); }
  bool Has(std::string_view metric) const;

  // Writes the per-step values for the steps after the domain's watermark, up to `to`.
  void WriteSteps(ClockDomain* domain, Position to);
  // Writes the constant values at a step clock's tick if another row is due at that tick.
  void WriteAtTick(ClockDomain* domain, Position tick);
  // Writes the constant values.
  void WriteRow(ClockDomain* domain, Position position);

 private:
  using Runs = std::vector<plan::BaselinePtr>;

  Runs Matching() const;
  void Take(Runs runs);
  void EndStepSeries(ClockDomain* domain, const Labels& labels);

  const JobIdentity* const job_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  Runs runs_;
  // Constant values of all runs as one row, and the row's columns in each domain.
  Schema schema_;
  std::vector<double> values_;
  std::map<const ClockDomain*, std::unique_ptr<BoundColumns>> columns_;
};

}  // namespace pitwall::engine
