// Step range of a sealed window and the location of the step summary in its file. Both are
// available without opening the file, because reading its footer takes longer than reading the
// whole summary.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "services/adapters/store/segment_footer.h"
#include "services/history/binary_fields.h"
#include "services/history/step_window.h"

namespace pitwall::history {

// Locations of the pages for one basis: the summary and then its blocks by level.
using StepPages = std::array<store::Page, 1 + kStepBlocks.size()>;

struct ModeSteps {
  std::string mode;
  int64_t least = 0;  // lowest step over all rows that have a step
  int64_t greatest = 0;
  bool summed = false;                             // whether the window has a step summary
  std::array<StepPages, kStepBases.size()> pages;  // page locations, by basis
  static constexpr auto BinaryMembers() {
    using T = ModeSteps;
    return std::tuple(&T::mode, &T::least, &T::greatest, &T::summed);
  }
};

struct StepIndex {
  bool known = false;  // false if the segment or its catalog row has no step ranges
  std::vector<ModeSteps> modes;

  const ModeSteps* Find(const std::string& mode) const;
  // Returns true if no row has a step of this mode in [from, to).
  bool Without(const std::string& mode, int64_t from_step, int64_t to_step) const;
  // Saves all fields except the page locations, which follow from the order of modes, bases, and
  // levels.
  void Save(BinaryWriter& out) const { Put(modes, &out); }
  void Restore(BinaryReader& in) {
    known = true;
    Take(&in, &modes);
  }
  void SavePages(BinaryWriter& out) const;
  void RestorePages(BinaryReader& in);
  // Sets the page locations from the table's groups. Returns false if the number of groups does not
  // match.
  bool PlacePages(const store::Table& table);
};

// Name of the step table. The table has one row and one group per page, in order, and the facts are
// last.
inline constexpr char kStepsTable[] = "steps";

}  // namespace pitwall::history
