#include "services/history/segments/step_index.h"

#include <algorithm>

#include "services/history/segments/text_page.h"

namespace pitwall::history {

const ModeSteps* StepIndex::Find(const std::string& mode) const {
  const auto at = std::find_if(modes.begin(), modes.end(),
                               [&](const ModeSteps& steps) { return steps.mode == mode; });
  return at == modes.end() ? nullptr : &*at;
}

bool StepIndex::Without(const std::string& mode, int64_t from_step, int64_t to_step) const {
  if (!known) return false;
  const ModeSteps* const steps = Find(mode);
  return steps == nullptr || steps->least >= to_step || steps->greatest < from_step;
}

void StepIndex::SavePages(BinaryWriter& out) const {
  for (const ModeSteps& steps : modes) {
    if (!steps.summed) continue;
    for (const StepPages& basis : steps.pages) {
      for (const store::Page& page : basis) SavePage(page, out);
    }
  }
}

void StepIndex::RestorePages(BinaryReader& in) {
  for (ModeSteps& steps : modes) {
    if (!steps.summed) continue;
    for (StepPages& basis : steps.pages) {
      for (store::Page& page : basis) page = RestorePage(in);
    }
  }
}

bool StepIndex::PlacePages(const store::Table& table) {
  size_t group = 0;
  for (ModeSteps& steps : modes) {
    if (!steps.summed) continue;
    for (StepPages& basis : steps.pages) {
      for (store::Page& page : basis) {
        if (group + 1 >= table.groups.size()) return false;
        page = table.groups[group++].pages[1];
      }
    }
  }
  return group + 1 == table.groups.size();
}

}  // namespace pitwall::history
