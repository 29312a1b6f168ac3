#include "services/model/sanitize_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/terminal.h"

namespace pitwall {

std::string SanitizeText(std::string_view text) {
  std::string out;
  while (true) {
    const size_t at = text.find_first_of("\n\t");
    out += TerminalLine(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    out += text[at];
    text.remove_prefix(at + 1);
  }
}

Labels SanitizeText(const Labels& labels) {
  if (std::none_of(labels.begin(), labels.end(),
                   [](const Label& label) { return HasControl(label.value); }))
    return labels;
  std::vector<Label> out(labels.begin(), labels.end());
  for (Label& label : out) label.value = SanitizeText(label.value);
  return Labels::FromPairs(std::move(out));
}

}  // namespace pitwall
