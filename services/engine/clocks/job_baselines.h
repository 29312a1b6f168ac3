// Summaries of finished jobs in a running one: constant values are written with the engine's own
// series and at every step, values by step at the same steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "rules/plan/baseline.h"
#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/row_writer.h"

namespace pitwall::engine {

// Follows from the rules and the name of the job, and is never saved. Not thread-safe.
class JobBaselines {
 public:
  // All are borrowed.
  JobBaselines(const JobIdentity* job, ClockDomains* domains, RowWriter* writer)
      : job_(job), domains_(domains), writer_(writer) {}

  // Finds the summaries that count for the job. Writes nothing.
  void Find();
  // Finds them again; series of those that no longer count end: on the time clock at `position`, on
  // a step clock after its watermark.
  void Change(int64_t position);
  // After a change of domains, where addresses may have changed.
  void ForgetColumns() { columns_.clear(); }
  void Clear() { Take({}); }
  bool empty() const { return runs_.empty(); }
  bool Has(std::string_view metric) const;

  // Writes the values by step of the steps after the domain's watermark, up to `to`.
  void WriteSteps(ClockDomain* domain, int64_t to);
  // Writes the constant values at a tick of a step clock, if some other row is due then.
  void WriteAtTick(ClockDomain* domain, int64_t tick);
  // Writes the constant values.
  void WriteRow(ClockDomain* domain, int64_t position);

 private:
  using Runs = std::vector<plan::BaselinePtr>;

  Runs Matching() const;
  void Take(Runs runs);
  void EndStepSeries(ClockDomain* domain, const Labels& labels);

  const JobIdentity* const job_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  Runs runs_;
  // The constant values of all runs as one row, and its columns in each domain.
  Schema schema_;
  std::vector<double> values_;
  std::map<const ClockDomain*, std::unique_ptr<BoundColumns>> columns_;
};

}  // namespace pitwall::engine
