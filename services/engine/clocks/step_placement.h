// The step clock of each rank in each mode: the shared one, or a separate one for ranks that fell
// behind it (time-model.md, section 3).
#pragma once

#include <cstdint>
#include <string>

#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/row_writer.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// Keeps the shared clock informed about the ranks for which it does not wait. Not thread-safe.
class StepPlacement {
 public:
  // All are borrowed.
  StepPlacement(SourceTable* sources, ClockDomains* domains, RowWriter* writer, LimitReport* limits)
      : sources_(sources), domains_(domains), writer_(writer), limits_(limits) {}

  // The clock for the rank's row of a step; `first`: its first row of that step. Null: the step was
  // evaluated already. Some rule is on steps of the mode.
  ClockDomain* ClockOfStep(Source* source, const std::string& mode, int64_t step, bool first);
  void Move(Source* source, const std::string& mode, uint32_t clock);
  // Takes ranks off the clock for which it has waited too long (time-model.md 3.2).
  void DropLaggards(ClockDomain* domain);
  // The rank announces the mode, or takes part again: what it promises counts from here on.
  void NoteReached(const std::string& mode, StepProgress* progress) const;
  // Returns every rank to the shared clock, in one mode or in all.
  void ReturnAll(const std::string& mode);
  void ReturnAll();
  // A rank does not run any more: nothing waits for it.
  void OnRankLeft(const Source& source);
  void NameMissingRanks(const std::string& mode);

 private:
  ClockDomain* Separate(const std::string& mode, int64_t position);
  bool Lags(const Source& source, ClockDomain* domain) const;
  void RemoveUnused(const std::string& mode, uint32_t clock);

  SourceTable* const sources_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  LimitReport* const limits_;
};

}  // namespace pitwall::engine
