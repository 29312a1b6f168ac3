#include "services/model/without_controls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/terminal.h"

namespace pitwall {

std::string WithoutControls(std::string_view text) { return TerminalLine(text); }

Labels WithoutControls(const Labels& labels) {
  if (std::none_of(labels.begin(), labels.end(),
                   [](const Label& label) { return HasControl(label.value); }))
    return labels;
  std::vector<Label> out(labels.begin(), labels.end());
  for (Label& label : out) label.value = WithoutControls(label.value);
  return Labels::FromPairs(std::move(out));
}

}  // namespace pitwall
