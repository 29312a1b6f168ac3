#include "rules/plan/program/shown_text.h"

#include <string_view>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::plan {
namespace {

bool IsDurationByte(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

// Appends a duration with a unit as a number of steps, and any other word unchanged.
void AppendSteps(std::string_view word, std::string* out) {
  const bool number = word.find_first_not_of("0123456789") == std::string_view::npos;
  const StatusOr<int64_t> parsed =
      number ? StatusOr<int64_t>(InvalidArgument("a number")) : ParseDuration(word);
  *out += parsed.ok() ? FormatDouble(static_cast<double>(*parsed) / kStepUnit) : std::string(word);
}

}  // namespace

std::string ShownText(const DomainPlan& domain, const Node& node) {
  const std::string_view text = node.text;
  if (!domain.demands.clock.step) return node.text;
  std::string out;
  char quote = 0;
  bool window = false;  // true if the position is between [ and ]
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    constexpr std::string_view kOffset = " offset ";
    if (quote == 0 && !window && text.substr(i).starts_with(kOffset)) {
      out += kOffset;
      i += kOffset.size();
    } else if (quote != 0 || !window || !IsDurationByte(c)) {
      if (quote != 0 && c == '\\' && i + 1 < text.size()) {
        out += text.substr(i, 2);
        i += 2;
        continue;
      }
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'' || c == '`') {
        quote = c;
      } else if (c == '[' || c == ']') {
        window = c == '[';
      }
      out += c;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsDurationByte(text[end])) ++end;
    AppendSteps(text.substr(i, end - i), &out);
    i = end;
  }
  return out;
}

}  // namespace pitwall::plan
