// Step range of a sealed window, and the location of the step summary in its file: known without
// opening the file, whose footer takes longer to read than the whole summary.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "services/adapters/store/segment_footer.h"
#include "services/base/binary.h"
#include "services/history/step_window.h"

namespace pitwall::history {

// Pages of one basis: the summary, then its blocks by level.
using StepPages = std::array<store::Page, 1 + kStepBlocks.size()>;

struct ModeSteps {
  std::string mode;
  int64_t least = 0;  // over all rows with a step
  int64_t greatest = 0;
  bool summed = false;                             // a summary exists
  std::array<StepPages, kStepBases.size()> pages;  // its location, by basis
};

struct StepIndex {
  bool known = false;  // false: an older window without step ranges
  std::vector<ModeSteps> modes;

  const ModeSteps* Find(const std::string& mode) const;
  // True: no row has a step of that mode in [from, to).
  bool Without(const std::string& mode, int64_t from_step, int64_t to_step) const;
  // Saves all but the pages, which follow from the order of modes, bases, and levels.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void SavePages(BinaryWriter& out) const;
  void RestorePages(BinaryReader& in);
  // Takes the page locations from the table's groups. False: their number differs.
  bool PlacePages(const store::Table& table);
};

// Table "steps": one row and one group per page, in order; the facts last.
inline constexpr char kStepsTable[] = "steps";

}  // namespace pitwall::history
