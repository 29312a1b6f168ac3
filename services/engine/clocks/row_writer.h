// Writes rows of sources, and samples of the engine itself, to the stores of a job's clocks. Counts
// what a store refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/engine/clocks/clock_domains.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Resolves the columns of a schema once for each store, never for each sample. Not thread-safe.
class RowWriter {
 public:
  // Both are borrowed.
  RowWriter(ClockDomains* domains, LimitReport* limits) : domains_(domains), limits_(limits) {}

  // Domains are new or have another program: columns are resolved again.
  void Rebind() { ++generation_; }

  // Writes the row on the time clock. Series that the stream's schema before had and this one does
  // not have end there.
  void WriteRow(const RowRef& row);
  // Writes the row on a step clock.
  void WriteStepRow(const RowRef& row, int64_t step, ClockDomain* domain);
  // Writes one sample of the engine; `domain` may be null.
  void WriteSample(ClockDomain* domain, int64_t position, const Labels& labels, double value);
  // Writes a row of the engine with the series of `schema`; `columns` keeps what they resolve to.
  void WriteOwnRow(ClockDomain* domain, int64_t position, const Schema& schema,
                   BoundColumns* columns, std::span<const double> values);
  // Ends all series of the source: on the time clock at `position`, on a step clock after the last
  // step that it has logged.
  void MarkStale(const Source& source, int64_t position);
  // Ends its series on its clock of that mode.
  void MarkStepsStale(const Source& source, const std::string& mode);

 private:
  void EndVanished(const RowRef& row, Binding* before);
  const BoundColumns& TimeColumns(Binding* binding);
  const BoundColumns& StepColumns(Binding* binding, ClockDomain* domain);
  void Bind(const Schema& schema, ClockDomain* domain, BoundColumns* columns);

  ClockDomains* const domains_;
  LimitReport* const limits_;
  uint64_t generation_ = 1;
};

}  // namespace pitwall::engine
