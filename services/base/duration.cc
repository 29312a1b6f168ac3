#include "services/base/duration.h"

#include <limits>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kHour = 3600 * 1000 * kMilli;

struct Unit {
  std::string_view name;
  int64_t nanos;
  bool exact;  // used only without a remainder: 8d stays 8d and does not become 1w1d
};

constexpr Unit kUnits[] = {
    {"y", 365 * 24 * kHour, true}, {"w", 7 * 24 * kHour, true},      {"d", 24 * kHour, false},
    {"h", kHour, false},           {"m", 60 * 1000 * kMilli, false}, {"s", 1000 * kMilli, false},
    {"ms", kMilli, false},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status NotADuration(std::string_view text) {
  return InvalidArgument(
      Cat("not a valid duration: ", Quote(text), " (use a form such as 30s, 5m, or 1h30m)"));
}

}  // namespace

StatusOr<int64_t> ParseDuration(std::string_view text) {
  if (text.empty()) return InvalidArgument("empty duration");
  if (text == "0") return int64_t{0};
  int64_t total = 0;
  size_t at = 0;
  size_t next_unit = 0;
  while (at < text.size()) {
    int64_t count = 0;
    const size_t first = at;
    while (at < text.size() && IsDigit(text[at])) {
      if (__builtin_mul_overflow(count, 10, &count) ||
          __builtin_add_overflow(count, text[at] - '0', &count)) {
        return InvalidArgument(Cat("duration out of range: ", Quote(text)));
      }
      ++at;
    }
    const size_t unit_first = at;
    while (at < text.size() && !IsDigit(text[at])) ++at;
    const std::string_view unit = text.substr(unit_first, at - unit_first);
    if (unit_first == first || unit.empty()) return NotADuration(text);
    while (next_unit < std::size(kUnits) && kUnits[next_unit].name != unit) ++next_unit;
    if (next_unit == std::size(kUnits)) return NotADuration(text);
    int64_t nanos = 0;
    if (__builtin_mul_overflow(count, kUnits[next_unit].nanos, &nanos) ||
        __builtin_add_overflow(total, nanos, &total)) {
      return InvalidArgument(Cat("duration out of range: ", Quote(text)));
    }
    ++next_unit;
  }
  return total;
}

std::string FormatDuration(int64_t nanos) {
  std::string out;
  if (nanos < 0) {
    out = "-";
    nanos =
        nanos == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -nanos;
  }
  if (nanos < kMilli) return "0s";
  for (const Unit& unit : kUnits) {
    if (unit.exact && nanos % unit.nanos != 0) continue;
    const int64_t count = nanos / unit.nanos;
    if (count == 0) continue;
    CatTo(out, count, unit.name);
    nanos -= count * unit.nanos;
  }
  return out;
}

}  // namespace pitwall
