// Steps of a sealed window, and the place of their summary in its file: known without opening
// the file, whose footer takes longer to read than all of the summary.
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
  int64_t least = 0;  // of all rows with a step
  int64_t greatest = 0;
  bool summed = false;                             // there is a summary
  std::array<StepPages, kStepBases.size()> pages;  // where it lies; by basis
};

struct StepIndex {
  bool known = false;  // false: of a window that was written before there were any
  std::vector<ModeSteps> modes;

  const ModeSteps* Find(const std::string& mode) const;
  // No row has a step of that mode in [from, to).
  bool Without(const std::string& mode, int64_t from_step, int64_t to_step) const;
  // Without pages: those follow from the order of modes, bases and levels.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void SavePages(BinaryWriter& out) const;
  void RestorePages(BinaryReader& in);
  // Takes the pages out of the table's groups. False: there are more or fewer.
  bool PlacePages(const store::Table& table);
};

// "steps": a row and a group for each page, in their order; last the facts.
inline constexpr char kStepsTable[] = "steps";

}  // namespace pitwall::history
