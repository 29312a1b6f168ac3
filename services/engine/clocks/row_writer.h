// Writer for source rows and engine samples. Writes to the stores of a job's clocks. Counts the
// rows and samples that a store rejects.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/base/time.h"
#include "services/engine/clocks/clock_domains.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Resolves a schema's columns once per store, not once per sample. Not thread-safe.
class RowWriter {
 public:
  // Both pointers are borrowed.
  RowWriter(ClockDomains* domains, LimitReport* limits) : domains_(domains), limits_(limits) {}

  // Must be called when domains are created or their program changes, so that columns are resolved
  // again.
  void Rebind() { ++generation_; }

  // Writes the row on the time clock. Series of the stream's previous schema that are missing from
  // the new one end at this row.
  void WriteRow(const RowRef& row);
  // Writes the row on a step clock.
  void WriteStepRow(const RowRef& row, Step step, ClockDomain* domain);
  // Writes one of the engine's own samples. `domain` may be null.
  void WriteSample(ClockDomain* domain, Position position, const Labels& labels, double value);
  // Writes a row of the engine's own samples for the series in `schema`. `columns` caches the
  // resolved columns.
  void WriteOwnRow(ClockDomain* domain, Position position, const Schema& schema,
                   BoundColumns* columns, std::span<const double> values);
  // Ends all series of the source. On the time clock, they end at `at`; on a step clock, they end
  // after the last step that the source has logged.
  void MarkStale(const Source& source, EventTime at);
  // Ends the source's series on its clock for that mode.
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
