#include "services/base/epoch_lint.h"

#include "services/base/text/strings.h"

namespace pitwall {

namespace {

bool Within(std::string_view digits, int64_t least, int64_t most) {
  const auto number = ParseInt(digits);
  return number && *number >= least && *number <= most;
}

}  // namespace

std::optional<std::string> DateTakenForSeconds(std::string_view text) {
  const bool day = text.size() == 8;
  if (!day && text.size() != 4) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (!Within(text.substr(0, 4), 1970, 2100)) return std::nullopt;
  if (day && (!Within(text.substr(4, 2), 1, 12) || !Within(text.substr(6, 2), 1, 31)))
    return std::nullopt;
  return Cat("ambiguous: ", day ? "day" : "year", " or seconds since 1970? Use ", text.substr(0, 4),
             "-", day ? text.substr(4, 2) : "01", "-", day ? text.substr(6, 2) : "01",
             "T00:00:00Z or ", text, ".0 for seconds");
}

}  // namespace pitwall
