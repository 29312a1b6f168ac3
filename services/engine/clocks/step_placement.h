// Assignment of each rank to a step clock in each mode: the shared clock, or a separate clock for
// ranks that have fallen behind (time-model.md, section 3).
#pragma once

#include <string>

#include "services/base/time.h"
#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/row_writer.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// Updates the list of ranks that each shared clock does not wait for. Not thread-safe.
class StepPlacement {
 public:
  // The pointers are borrowed.
  StepPlacement(SourceTable* sources, ClockDomains* domains, RowWriter* writer, LimitReport* limits)
      : sources_(sources), domains_(domains), writer_(writer), limits_(limits) {}

  // Returns the clock for the rank's row at a step, or null if the step has already been evaluated.
  // `first` marks the rank's first row at that step. At least one rule must read steps in that
  // mode.
  ClockDomain* ClockOfStep(Source* source, const std::string& mode, Step step, bool first);
  void Move(Source* source, const std::string& mode, uint32_t clock);
  // Removes ranks from the clock after it has waited too long for them (time-model.md 3.2).
  void DropLaggards(ClockDomain* domain);
  // Restarts the count of steps since the rank's last promise. Must be called when the rank
  // announces the mode or participates again.
  void NoteReached(const std::string& mode, StepProgress* progress) const;
  // Moves every rank back to the shared clock, in one mode or in all modes.
  void ReturnAll(const std::string& mode);
  void ReturnAll();
  // Must be called when a rank has stopped running. Clocks then no longer wait for the rank.
  void OnRankLeft(const Source& source);
  void NameMissingRanks(const std::string& mode);

 private:
  ClockDomain* Separate(const std::string& mode, Position position);
  bool Lags(const Source& source, ClockDomain* domain) const;
  void RemoveUnused(const std::string& mode, uint32_t clock);

  SourceTable* const sources_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  LimitReport* const limits_;
};

}  // namespace pitwall::engine
